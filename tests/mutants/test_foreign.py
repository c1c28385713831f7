"""Mutants of a loop that is not ours, judged by our suite: what is imported from where, and what becomes of them."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
from tests.mutants.strangers import (
    AGENT,
    ANSWER,
    CAP,
    HAND,
    IN_A_PACKAGE,
    IN_ONE_FILE,
    ONE_MORE,
    SAME,
    Stranger,
    small_suite,
)

from looptck import cli
from looptck.report.folder import read_run
from looptck_mutants.foreign import load_project
from looptck_mutants.harness import Harness, RedBaselineError
from looptck_mutants.outcome import MutantReport, MutantsReport
from looptck_mutants.schemas import mutants_schema

SEED = 3


@pytest.fixture(autouse=True)
def _few_tests(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    with small_suite(CAP, HAND):
        yield


@pytest.fixture
def file(tmp_path: Path) -> Stranger:
    return Stranger(tmp_path / "their")


@pytest.fixture
def package(tmp_path: Path) -> Stranger:
    return Stranger(tmp_path / "their", IN_A_PACKAGE)


def judged(stranger: Stranger) -> MutantsReport:
    project = load_project(str(stranger.mutants))
    judge = Harness(project, SEED)
    return judge.run(project.mutants, judge.baseline(), lambda _: None)


def only(stranger: Stranger) -> MutantReport:
    (mutant,) = judged(stranger).mutants
    return mutant


def red(stranger: Stranger) -> str:
    stranger.put("m01")
    with pytest.raises(RedBaselineError) as caught:
        judged(stranger)
    return str(caught.value)


def adapted(stranger: Stranger, lacks: str) -> None:
    """Its loop is an adapter beside it, which lacks this."""
    code = f"""
    import odd_loop
    from looptck.adapter import ContractAdapter

    adapter = ContractAdapter(odd_loop.Agent)
    adapter.lacks = {lacks}
    """
    stranger.write("their_adapter.py", textwrap.dedent(code))
    stranger.table["loop"] = "their_adapter:adapter"


def looptck(*arguments: str) -> int:
    return cli.run(["mutants", "--seed", str(SEED), *arguments])


# -------------------------------------------------------------------------------------------------------------- fates


@pytest.mark.parametrize("kind", ["file", "package"])
def test_a_mutant_is_killed_by_its_check_and_by_no_other(kind: str, request: pytest.FixtureRequest) -> None:
    stranger: Stranger = request.getfixturevalue(kind)
    stranger.put("m01")
    stranger.put("m02", killer=ANSWER)
    stranger.put("m03", SAME)
    before = stranger.files()
    report = judged(stranger)
    fates = {mutant.id: (mutant.verdict, mutant.message) for mutant in report.mutants}
    assert fates == {
        "m01": ("killed", ""),
        "m02": ("by_others", "hand/answer passed"),
        "m03": ("survived", "max-iter/model-calls passed, as did every other check"),
    }
    assert report.loop == stranger.table["loop"]
    assert stranger.files() == before
    assert stranger.name not in sys.modules
    assert str(stranger.root) not in sys.path


def test_a_module_that_is_not_patched_is_run_without_bytecode(
    package: Stranger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    package.write("beside.py", "")
    package.write(f"{package.name}/__init__.py", "import beside\n")
    package.put("m01")
    before = package.files()
    assert only(package).verdict == "killed"
    assert package.files() == before


def test_a_file_in_crlf_is_patched_in_crlf(tmp_path: Path) -> None:
    stranger = Stranger(tmp_path / "their", IN_ONE_FILE.replace("\n", "\r\n"))
    stranger.put("m01")
    assert b"\r\n" in (stranger.mutants / "m01.patch").read_bytes()
    assert only(stranger).verdict == "killed"


def test_a_file_in_crlf_is_stale_for_a_patch_in_lf(file: Stranger) -> None:
    file.put("m01")
    file.write("odd_loop.py", IN_ONE_FILE.replace("\n", "\r\n"))
    mutant = only(file)
    assert (mutant.verdict, mutant.message) == (
        "stale",
        r"m01.patch:4: odd_loop line 1: expected 'EXTRA = 0\n', there is 'EXTRA = 0\r\n'",
    )


def test_a_file_with_a_mark_of_its_encoding_is_patched(tmp_path: Path) -> None:
    stranger = Stranger(tmp_path / "their", f"\ufeff{IN_ONE_FILE}")
    stranger.put("m01")
    assert only(stranger).verdict == "killed"


@pytest.mark.parametrize(
    ("kind", "path", "expected"),
    [
        ("file", "other.py", "odd_loop.py"),
        ("file", "odd_loop/agent.py", "odd_loop.py"),
        ("package", "odd_loop.py", "a Python module of odd_loop/"),
        ("package", "other/limits.py", "a Python module of odd_loop/"),
    ],
)
def test_a_patch_of_what_is_not_the_package_is_stale(
    kind: str, path: str, expected: str, request: pytest.FixtureRequest
) -> None:
    stranger: Stranger = request.getfixturevalue(kind)
    stranger.write(path, "EXTRA = 0\n")
    stranger.add("m01", stranger.diff(path, *ONE_MORE))
    stranger.entry("m01", f"killer = {ANSWER}")
    if kind == "package":
        (stranger.root / "odd_loop.py").unlink(missing_ok=True)
    mutant = only(stranger)
    assert (mutant.verdict, mutant.message) == (
        "stale",
        f"m01.patch:1: expected the path of {expected}, there is '--- a/their/src/{path}'",
    )


def test_a_patch_that_never_runs_is_broken(package: Stranger) -> None:
    package.write(f"{package.name}/unused.py", "EXTRA = 0\n")
    package.put("m01", path=f"{package.name}/unused.py")
    mutant = only(package)
    assert (mutant.verdict, mutant.message) == ("broken", "patched and never run: odd_loop.unused")


def test_what_an_import_does_is_done_in_children(file: Stranger, tmp_path: Path) -> None:
    note = tmp_path / "imported-by"
    file.write("odd_loop.py", f"import os\nopen({str(note)!r}, 'a').write(f'{{os.getpid()}} ')\n{IN_ONE_FILE}")
    file.put("m01")
    assert only(file).verdict == "killed"
    importers = note.read_text().split()
    assert len(importers) == len(set(importers)) >= 3  # what it is, the baseline, the mutant
    assert str(os.getpid()) not in importers


def test_an_adapter_stands_for_the_loop(file: Stranger) -> None:
    adapted(file, "{}")
    file.put("m01")
    assert only(file).verdict == "killed"


# ----------------------------------------------------------------------------------------------------- names that clash


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of the same name that comes first on the path."""
    (tmp_path / "site" / "odd_loop").mkdir(parents=True)
    (tmp_path / "site" / "odd_loop" / "__init__.py").write_text("raise RuntimeError('this one is installed')")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.chdir(tmp_path / "site")


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("kind", ["file", "package"])
def test_the_root_comes_before_what_is_installed(kind: str, request: pytest.FixtureRequest) -> None:
    stranger: Stranger = request.getfixturevalue(kind)
    stranger.put("m01")
    assert only(stranger).verdict == "killed"


def test_a_module_from_outside_the_root_is_refused(package: Stranger, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "limits.py").write_text("EXTRA = 0\n")
    package.write(f"{package.name}/__init__.py", f"__path__.insert(0, {str(tmp_path / 'site')!r})\n")
    assert red(package).endswith("imported from outside the project's root: odd_loop.limits")


# --------------------------------------------------------------------------------------------------------- the baseline


def test_a_loop_that_fails_the_suite_has_no_mutants(file: Stranger) -> None:
    file.write("odd_loop.py", IN_ONE_FILE.replace(*ONE_MORE))
    file.add("m01", file.diff("odd_loop.py", "EXTRA = 1", "EXTRA = 2"))
    file.entry("m01", f"killer = {ANSWER}")
    with pytest.raises(
        RedBaselineError, match=r"^the suite does not pass on the unmutated loop: max-iter/model-calls \("
    ):
        judged(file)


@pytest.mark.parametrize(
    ("loop", "message"),
    [
        ("odd_loop:Agnet", "odd_loop has no Agnet; its classes are Agent; name one with odd_loop:Name"),
        ("odd_lop:Agent", "odd_lop:Agent cannot be imported: ModuleNotFoundError: No module named 'odd_lop'"),
    ],
)
def test_a_loop_that_is_not_there_is_named(file: Stranger, loop: str, message: str) -> None:
    file.table["loop"] = loop
    assert red(file) == f"there is no unmutated loop: {message}"


LATE = AGENT.replace("max_iter + EXTRA", "min(max_iter, 3) + EXTRA")
"""A loop that does not know the default cap."""


@pytest.fixture
def late(file: Stranger) -> Stranger:
    file.write("odd_loop.py", f"EXTRA = 0\n{LATE}")
    file.table["known_failures"] = "known.toml"
    return file


def known(stranger: Stranger, *checks: str) -> None:
    lines = [f"'{check}' = 'the cap is three at most'" for check in checks]
    (stranger.mutants / "known.toml").write_text("\n".join(lines))


def test_checks_that_the_loop_is_known_to_fail_do_not_count(late: Stranger) -> None:
    known(late, "max-iter/default")
    late.put("m01")
    late.put("m02", ("min(max_iter, 3)", "min(max_iter, 4)"))
    first, second = judged(late).mutants
    assert first.verdict == "killed"
    assert "max-iter/default" not in first.killed_by
    assert (second.verdict, second.killed_by) == ("survived", [])


def test_a_failure_that_is_not_known_is_red(late: Stranger) -> None:
    known(late)
    assert red(late).startswith("the suite does not pass on the unmutated loop: max-iter/default ")


def test_a_known_failure_that_passes_is_refused(late: Stranger) -> None:
    known(late, "max-iter/default", "hand/answer")
    assert red(late) == "hand/answer is listed as a known failure, and passes"


def test_what_the_adapter_lacks_is_skipped_and_kills_nothing(file: Stranger) -> None:
    adapted(file, "{'max_iter': 'it has none'}")
    assert red(file) == (
        "mutant m01 is meant for max-iter/model-calls, which is skipped: the loop lacks max_iter: it has none"
    )


# ----------------------------------------------------------------------------------------------------- the command line


def test_the_command_says_whose_mutants_they_are(
    file: Stranger, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(file.root.parent)
    file.put("m01")
    file.put("m02", killer=ANSWER)
    assert looptck("--manifest", "mutants", "m01") == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "Found 1 mutant of odd_loop:Agent (seed 3)"
    assert out[-1].endswith(" s: 1 killed")
    assert looptck("--manifest", "mutants") == 1


def test_no_report_has_a_path_of_the_machine(
    file: Stranger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(file.root.parent)
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    file.put("m01")
    file.put("m02", SAME)
    file.add("m03", "no patch\n")
    file.entry("m03", f"killer = {ANSWER}")
    outputs = ["--json", "../o.json", "--html", "../o.html", "--report", "../o", "--output-format", "github"]
    assert looptck("--manifest", "mutants", *outputs) == 2
    report = json.loads((tmp_path / "o.json").read_text())
    jsonschema.Draft202012Validator(mutants_schema()).validate(report)
    assert (report["profile"], report["loop"]) == ("ag03", "odd_loop:Agent")
    page = (tmp_path / "o.html").read_text()
    assert "looptck mutants --manifest mutants --seed 3" in page
    assert "Mutants of <b>odd_loop:Agent</b>" in page
    assert '"odd_loop.py":' in page
    header, results, _ = read_run(tmp_path / "o")
    assert (header["loop"], len(results)) == ("odd_loop:Agent", 3)
    assert "3 mutants of odd_loop:Agent" in summary.read_text()
    for text in (page, json.dumps(report), json.dumps(results), summary.read_text(), capsys.readouterr().out):
        assert str(tmp_path) not in text
        assert "m02" in text


def test_a_folder_without_a_manifest_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert looptck("--manifest", str(tmp_path)) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"looptck: {tmp_path}/manifest.toml: cannot be read: No such file or directory")


def test_the_profile_is_that_of_the_manifest(file: Stranger, capsys: pytest.CaptureFixture[str]) -> None:
    file.put("m01")
    assert looptck("--manifest", str(file.mutants), "--profile", "lesson4") == 4
    assert "--profile: the manifest says which it is" in capsys.readouterr().err


def test_a_red_baseline_of_theirs_is_incomplete(late: Stranger, capsys: pytest.CaptureFixture[str]) -> None:
    known(late)
    late.put("m01")
    assert looptck("--manifest", str(late.mutants)) == 2
    assert "does not pass on the unmutated loop: max-iter/default" in capsys.readouterr().err
