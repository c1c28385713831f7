"""`looptck mutants` as a user meets it: what it prints, where, and its exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
from tests.mutants.shelf import ANSWER, CAP, ONE_MORE, PROFILE, SAME, STALE, Shelf, patch, shelf_in, wrong_loop

from looptck import cli
from looptck.target import REFERENCES
from looptck_mutants import harness
from looptck_mutants.harness import KitFaultError
from looptck_mutants.schemas import mutants_schema


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shelf]:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    with shelf_in(tmp_path, CAP) as shelf:
        yield shelf


def looptck(*arguments: str) -> int:
    return cli.run(["mutants", "--seed", "3", *arguments])


def refusal(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of an error; nothing else is printed on standard error."""
    (line,) = capsys.readouterr().err.splitlines()
    return line.removeprefix("looptck: ")


# ------------------------------------------------------------------------------------------------------------ it is run


def test_where_every_mutant_is_killed_the_exit_code_is_0(shelf: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
    shelf.put("s01", patch(ONE_MORE))
    shelf.put("s02", patch(SAME), equivalent="the list is never looked at")
    assert looptck() == 0
    printed = capsys.readouterr()
    found, baseline, last = printed.out.splitlines()
    assert found == "Found 2 mutants of ag03 (seed 3)"
    assert baseline.startswith("Baseline: 11 checks pass on the unmutated loop in ")
    assert last.startswith("2 mutants tested in ")
    assert last.endswith(" s: 1 killed, 1 equivalent")
    assert printed.err == ""


def test_what_got_away_is_printed_and_the_exit_code_is_1(shelf: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
    shelf.put("killed", patch(ONE_MORE))
    shelf.put("others", patch(ONE_MORE), killer=ANSWER)
    shelf.put("survivor", patch(SAME))
    assert looptck() == 1
    text = "\n".join(capsys.readouterr().out.splitlines()[2:])
    first, second = text.index("by others others about others\n"), text.index("survived survivor about survivor\n")
    assert "\n  hand/answer passed\n  other checks failed: max-iter/default, " in text[first:second]
    assert text[:second].endswith("\n  meant for hand/answer of TestHandExample; patch others.patch\n")
    assert text[second:].splitlines()[1:3] == [
        "  max-iter/model-calls passed, as did every other check",
        "  meant for max-iter/model-calls of TestMaxIterStops; patch survivor.patch",
    ]
    assert text.endswith(" s: 1 killed, 1 by others, 1 survived")
    assert "about killed" not in text


def test_a_stale_patch_is_named_and_the_exit_code_is_2_whatever_else_got_away(
    shelf: Shelf, capsys: pytest.CaptureFixture[str]
) -> None:
    shelf.put("survivor", patch(SAME))
    shelf.put("old", STALE)
    assert looptck() == 2
    out = capsys.readouterr().out
    assert "stale old about old\n  old.patch:4: looptck_reference line 3: expected " in out
    assert out.rstrip().endswith(" s: 1 survived, 1 stale")


def test_only_the_mutants_that_are_named_are_run_in_the_order_of_the_manifest(
    shelf: Shelf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("s01", "s02", "s03"):
        shelf.put(name, patch(ONE_MORE))
    file = tmp_path / "report.json"
    assert looptck("s03", "s01", "--json", str(file)) == 0
    assert [mutant["id"] for mutant in json.loads(file.read_text())["mutants"]] == ["s01", "s03"]
    assert capsys.readouterr().out.startswith("Found 2 mutants")


def test_the_matrix_shows_how_many_checks_of_each_test_failed(shelf: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
    shelf.put("s01", patch(ONE_MORE))
    shelf.put("others", patch(ONE_MORE), killer=ANSWER)
    shelf.put("survivor", patch(SAME))
    looptck("--matrix")
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[2] == "mutant A B C D E F G H I J K L M verdict"
    first, second, third = (line.split() for line in lines[3:6])
    assert (first[0], first[-1], first[3][-1]) == ("s01", "killed", "*")
    assert first[3] == f"{second[3]}*"
    assert int(second[3]) > 1
    assert second[-2:] == ["by", "others"]
    assert third == ["survivor", *["·"] * 13, "survived"]
    assert lines[6:9] == ["A TestHandExample", "B TestSystemPrompt", "C TestMaxIterStops"]


def test_without_the_option_there_is_no_matrix(shelf: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
    shelf.put("s01", patch(ONE_MORE))
    looptck()
    assert "TestHandExample" not in capsys.readouterr().out


# ----------------------------------------------------------------------------------------------------------------- json


def test_json_on_standard_output_is_all_that_stands_there(shelf: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
    shelf.put("s01", patch(ONE_MORE))
    shelf.put("survivor", patch(SAME))
    assert looptck("--json", "-", "--matrix") == 1
    printed = capsys.readouterr()
    report = json.loads(printed.out)
    top = ["schema", "profile", "loop", "seed", "baseline", "counts", "wall_s", "mutants", "suite", "systematic"]
    assert list(report) == top
    assert list(report["baseline"]) == ["verdict", "checks", "wall_s"]
    assert list(report["counts"]) == ["killed", "by_others", "survived", "timeout", "broken", "stale", "equivalent"]
    keys = ["id", "title", "pitfall", "patch", "killer", "verdict", "killed_by", "message", "diff"]
    assert [list(mutant) for mutant in report["mutants"]] == [keys, keys]
    assert report["mutants"][0]["killer"] == {"test": "TestMaxIterStops", "check": "max-iter/model-calls"}
    assert (report["schema"], report["profile"], report["seed"]) == ("looptck-mutants-1", PROFILE, 3)
    jsonschema.Draft202012Validator(mutants_schema()).validate(report)
    assert "survived survivor" in printed.err
    assert "A  TestHandExample" in printed.err


def test_a_file_that_cannot_be_written_is_a_usage_error(
    shelf: Shelf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shelf.put("s01", patch(ONE_MORE))
    assert looptck("--json", str(tmp_path / "none" / "report.json")) == 4
    assert "No such file or directory" in refusal(capsys)


# ----------------------------------------------------------------------------------------------------- it cannot be run


def test_an_unknown_mutant_is_a_usage_error(shelf: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
    shelf.put("s01", patch(ONE_MORE))
    shelf.put("x07", patch(SAME))
    assert looptck("s01", "s99") == 4
    assert refusal(capsys) == "there is no mutant 's99'; there are s01 to x07 (looptck --help)"


def test_an_unknown_profile_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert looptck("--profile", "ag04") == 4
    assert refusal(capsys).startswith("there is no profile 'ag04'; ")


def test_a_manifest_that_names_an_unknown_check_is_refused(shelf: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
    shelf.put("s01", patch(ONE_MORE), killer=("TestMaxIterStops", "max-iter/model-call"))
    assert looptck() == 2
    assert refusal(capsys) == (
        "ag03/manifest.toml: mutant 1 (s01): killer.check: unknown check 'max-iter/model-call' "
        "(is it 'max-iter/model-calls'?)"
    )


def test_a_red_baseline_ends_it_before_any_mutant_is_run(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shelf.put("s01", patch(ONE_MORE))
    monkeypatch.setitem(REFERENCES, PROFILE, wrong_loop(tmp_path, monkeypatch))
    assert looptck("--json", str(tmp_path / "report.json")) == 2
    assert refusal(capsys).startswith("the suite does not pass on the unmutated loop: max-iter/model-calls (and ")
    assert not (tmp_path / "report.json").exists()


def test_a_reference_that_is_not_there_is_a_red_baseline(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shelf.put("s01", patch(ONE_MORE))
    monkeypatch.setitem(REFERENCES, PROFILE, "looptck_nowhere:Agent")
    assert looptck() == 2
    assert "looptck_nowhere:Agent cannot be imported: ModuleNotFoundError" in refusal(capsys)


def test_a_fault_of_the_kit_has_an_exit_code_of_its_own(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def judge(*_: object) -> None:
        raise KitFaultError("max-iter/usage on s01: LookupError: no such thing")

    shelf.put("s01", patch(ONE_MORE))
    monkeypatch.setattr(harness, "judge_test", judge)
    assert looptck() == 3
    assert "max-iter/usage on s01: LookupError: no such thing" in refusal(capsys)
