"""The manifest of a project that is not ours: what a good one gives, and the one line that each wrong one gets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.mutants.strangers import ANSWER, IN_A_PACKAGE, Stranger

from looptck_mutants.foreign import load_project
from looptck_mutants.manifest import ManifestError

TEST = "{ test = 'test_cap.py::test_cap' }"


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stranger:
    """A project that is sound, named from its own folder."""
    stranger = Stranger(tmp_path / "their")
    stranger.put("m01")
    monkeypatch.chdir(stranger.root.parent)
    return stranger


def refusal(given: str = "mutants") -> str:
    with pytest.raises(ManifestError) as caught:
        load_project(given)
    text = str(caught.value)
    assert text.startswith("mutants/manifest.toml: ")
    assert "\n" not in text
    return text.removeprefix("mutants/manifest.toml: ")


def test_paths_are_relative_to_the_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = Stranger(tmp_path / "their")
    (tmp_path / "their" / "tests").mkdir()
    stranger.table["tests"] = "../tests"
    stranger.put("m01", killer=TEST)
    monkeypatch.chdir(stranger.mutants)
    project = load_project(".")
    assert (project.root, project.tests, project.given) == (stranger.root, "../tests", ".")
    assert project.patch(project.mutants[0]).modules == ("odd_loop",)
    monkeypatch.chdir(tmp_path)
    assert load_project("their/mutants").tests == "their/mutants/../tests"


def test_a_package_is_told_from_a_module_of_one_file(stranger: Stranger, tmp_path: Path) -> None:
    assert load_project("mutants").one_file
    package = Stranger(tmp_path / "package", IN_A_PACKAGE)
    package.put("m01")
    project = load_project(str(package.mutants))
    assert not project.one_file
    assert list(project.sources()) == ["odd_loop", "odd_loop.agent", "odd_loop.limits"]
    assert stranger.name == package.name


def test_a_package_without_an_init_file_is_a_package(tmp_path: Path) -> None:
    package = Stranger(tmp_path / "their", {name: text for name, text in IN_A_PACKAGE.items() if name != "__init__.py"})
    package.put("m01")
    assert list(load_project(str(package.mutants)).sources()) == ["odd_loop.agent", "odd_loop.limits"]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("profile", "ag04", "project.profile: there is no profile 'ag04'; there are ag03 and lesson4"),
        ("loop", "odd_loop", "project.loop: expected package.module:Name or adapter:NAME, there is 'odd_loop'"),
        ("loop", "src/odd_loop.py:Agent", "project.loop: expected package.module:Name or adapter:NAME, there is 'src/"),
        ("loop", "adapter:none-such", "project.loop: there is no adapter 'none-such'; installed are: "),
        ("package", "odd_loop.agent", "project.package: expected the name of a top-level package or module, there is"),
        ("package", "odd_lop", "project: package: there is neither odd_lop/ nor odd_lop.py in the root '../src'"),
        ("package", "pydantic", "project.package: the kit itself imports a package named 'pydantic', which therefore"),
        ("root", "../source", "project: root: there is no '../source' beside the manifest"),
        ("root", "manifest.toml", "project: root: 'manifest.toml' is no folder"),
        ("root", " ", "project.root: String should match pattern"),
        ("tests", "../tests", "project: tests: there is no '../tests' beside the manifest"),
        ("known_failures", "known.toml", "project: known_failures: mutants/known.toml: No such file or directory"),
        ("rot", "../src", "project.rot: unknown key"),
    ],
)
def test_a_wrong_project_is_refused_with_its_key(stranger: Stranger, key: str, value: str, message: str) -> None:
    stranger.table[key] = value
    stranger.save()
    assert refusal().startswith(message)


@pytest.mark.parametrize("key", ["profile", "loop", "package", "root"])
def test_what_has_to_be_said_is_missed(stranger: Stranger, key: str) -> None:
    del stranger.table[key]
    stranger.save()
    assert refusal() == f"project.{key}: missing"


@pytest.mark.parametrize(
    ("fate", "message"),
    [
        ("killer = 'any'", "mutant 2 (m02): killer: Input should be a valid dictionary"),
        ("", "mutant 2 (m02): expected a killer, or the argument that makes it equivalent; there are neither"),
        (f"killer = {TEST}", "mutant 2 (m02): killer.test: unknown test 'test_cap.py::test_cap'"),
        ("killer = { test = 'TestMaxIterStops' }", "mutant 2 (m02): killer.check: missing"),
        (
            "killer = { test = 'TestHandExample', check = 'hand/anser' }",
            "mutant 2 (m02): killer.check: unknown check 'hand/anser' (is it 'hand/answer'?)",
        ),
        (f"killer = {ANSWER}\nkiler = 1", "mutant 2 (m02): kiler: unknown key"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_key(stranger: Stranger, fate: str, message: str) -> None:
    stranger.add("m02", "a patch\n")
    stranger.entry("m02", fate)
    assert refusal().startswith(message)


def test_an_entry_without_its_patch_is_refused(stranger: Stranger) -> None:
    stranger.entry("m02", f"killer = {ANSWER}")
    assert refusal() == "mutant 2 (m02): patch: no file 'm02.patch' in the folder (is it 'm01.patch'?)"


def test_a_patch_without_an_entry_is_refused(stranger: Stranger) -> None:
    stranger.add("m02", "a patch\n")
    assert refusal() == "patch file 'm02.patch' is named by no entry"


def test_a_killer_that_is_known_to_fail_is_refused(stranger: Stranger) -> None:
    stranger.table["known_failures"] = "known.toml"
    (stranger.mutants / "known.toml").write_text("'max-iter/model-calls' = 'there is no cap'\n")
    stranger.save()
    assert refusal() == (
        "mutant 1 (m01): killer.check: 'max-iter/model-calls' is a known failure of the loop, and can kill nothing"
    )


@pytest.fixture
def tested(stranger: Stranger) -> Callable[[str], str]:
    """What is said where tests of their own judge, and a mutant has this killer."""
    (stranger.root.parent / "tests").mkdir()
    stranger.table["tests"] = "../tests"

    def told(killer: str) -> str:
        stranger.add("m02", "a patch\n")
        stranger.entry("m02", f"killer = {killer}")
        return refusal()

    return told


def test_with_tests_of_their_own_a_killer_has_no_check(tested: Callable[[str], str]) -> None:
    assert tested(TEST) == (
        "mutant 1 (m01): killer.check: with tests of your own a killer is one of these, and has no check"
    )


def test_known_failures_are_of_our_suite(stranger: Stranger) -> None:
    stranger.table |= {"tests": "../src", "known_failures": "known.toml"}
    stranger.save()
    assert refusal().startswith("project: known_failures lists checks of our suite, and tests leaves the judging to")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "project: missing"),
        ("[project", "not TOML: "),
        ("project = 1", "project: Input should be a valid dictionary"),
    ],
)
def test_what_is_no_manifest_is_refused(stranger: Stranger, text: str, message: str) -> None:
    (stranger.mutants / "manifest.toml").write_text(text)
    assert refusal().startswith(message)


def test_a_source_that_is_not_utf_8_is_named(stranger: Stranger) -> None:
    (stranger.root / "odd_loop.py").write_bytes(b"# \xe9\n")
    assert refusal() == "project: package: not UTF-8: invalid continuation byte in odd_loop.py"
