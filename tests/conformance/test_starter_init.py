"""`looptck init`: what it writes and prints, that it overwrites nothing, and that what it wrote says what works."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.starters import STAGES, staged

from looptck import __version__
from looptck.suite import PROFILES

FILES = ["my_loop.py", "README.md", "requirements.txt", ".github/workflows/looptck.yml"]


def below(folder: Path) -> list[str]:
    """Every file and folder below a folder."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


# ------------------------------------------------------------------------------------------------------------- written


@pytest.mark.parametrize(("profile", "first"), [("ag03", "TestHandExample"), ("lesson4", "test_single_tool_")])
def test_it_names_what_it_wrote_and_the_next_command(looptck: Any, profile: str, first: str, tmp_path: Path) -> None:
    folder = tmp_path / "not" / "there yet"
    ran = looptck("init", str(folder), "--profile", profile)
    assert (ran.code, ran.err) == (0, "")
    *files, last = ran.out.splitlines()
    assert files == [str(folder / name) for name in FILES]
    assert all(Path(file).read_text(encoding="utf-8") for file in files)
    assert last.startswith(f"next: looptck check '{folder}/my_loop.py' --profile {profile} -k {first}")


def test_it_writes_ag03_beside_what_is_in_the_present_folder(
    looptck: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    ran = looptck("init", ".")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [*FILES, "next: looptck check my_loop.py --profile ag03 -k TestHandExample"]
    assert below(tmp_path) == sorted([*FILES, ".github", ".github/workflows", "notes.txt"])


@pytest.mark.parametrize("profile", PROFILES)
def test_the_version_and_the_profile_are_filled_in(looptck: Any, profile: str, tmp_path: Path) -> None:
    looptck("init", str(tmp_path), "--profile", profile)
    told, *pinned = (tmp_path / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert (told.startswith(f"# Until {__version__} is released, "), pinned) == (True, [f"looptck=={__version__}"])
    for name in FILES:
        assert not re.search(r"@(profile|version)@", (tmp_path / name).read_text(encoding="utf-8"))


# --------------------------------------------------------------------------------------------------------- not written


@pytest.mark.parametrize("name", FILES)
def test_what_is_there_is_not_overwritten_and_nothing_else_is_written(looptck: Any, name: str, tmp_path: Path) -> None:
    mine = tmp_path / name
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text("mine", encoding="utf-8")
    before = below(tmp_path)
    ran = looptck("init", str(tmp_path))
    assert (ran.code, ran.out, ran.err.count("\n")) == (4, "", 1)
    assert f"nothing was written: there is already {mine}; choose another folder" in ran.err
    assert (below(tmp_path), mine.read_text(encoding="utf-8")) == (before, "mine")


def test_a_link_to_nothing_is_there_too(looptck: Any, tmp_path: Path) -> None:
    (tmp_path / "README.md").symlink_to("nowhere")
    assert looptck("init", str(tmp_path)).code == 4
    assert below(tmp_path) == ["README.md"]


def test_where_the_last_file_cannot_be_written_those_before_it_are_taken_back(looptck: Any, tmp_path: Path) -> None:
    folder = tmp_path / "loop"
    folder.mkdir()
    (folder / ".github").write_text("a file where a folder has to be", encoding="utf-8")
    ran = looptck("init", str(folder))
    assert (ran.code, ran.out, ran.err.count("\n")) == (4, "", 1)
    assert f"nothing was written: '{folder}'" in ran.err
    assert below(tmp_path) == ["loop", "loop/.github"]


def test_a_folder_that_was_made_for_nothing_is_taken_back_too(
    looptck: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Path.open

    def full(file: Path, mode: str = "r", *rest: Any, **options: Any) -> Any:
        if mode == "x":
            raise OSError(28, "No space left on device")
        return opened(file, mode, *rest, **options)

    monkeypatch.setattr(Path, "open", full)
    ran = looptck("init", str(tmp_path / "a" / "b"))
    assert (ran.code, "No space left on device; choose another folder" in ran.err) == (4, True)
    assert below(tmp_path) == []


def test_the_next_command_can_be_typed_for_a_name_that_looks_like_an_option(
    looptck: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = looptck("init", "--", "-d")
    program, *arguments = shlex.split(ran.out.splitlines()[-1].removeprefix("next: "))
    assert (program, arguments[:2]) == ("looptck", ["check", "./-d/my_loop.py"])
    checked = looptck(*arguments)
    assert checked.code == 1
    again = next(line for line in checked.out.splitlines() if line.startswith("  again: "))
    assert " check ./-d/my_loop.py " in again


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["FILE"], "nothing was written: 'FILE': File exists"),
        (["FILE/below"], "nothing was written: 'FILE/below': File exists"),
        (["a\0b"], "null"),
        (["loop", "--profile", "ag99"], "there is no profile 'ag99'"),
        ([], "DIR"),
        ([""], "DIR: the name is empty"),
        (["one", "two"], "two"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_4(
    looptck: Any, arguments: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("FILE").touch()
    ran = looptck("init", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (4, "", 1)
    assert told in ran.err
    assert below(tmp_path) == ["FILE"]


# -------------------------------------------------------------------------------------------------- what was written


@pytest.mark.parametrize("profile", PROFILES)
def test_the_commands_that_are_shown_can_be_typed_and_pass_with_a_complete_loop(
    looptck: Any, profile: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    looptck("init", ".", "--profile", profile)
    Path(FILES[0]).write_text(staged(profile, [*STAGES[profile]][-1]), encoding="utf-8")
    shown = [
        command
        for text in (Path(name).read_text(encoding="utf-8") for name in FILES)
        for block in re.findall(r"^```sh\n(.*?)^```$|- run: (looptck .*)", text, re.DOTALL | re.MULTILINE)
        for command in "\n".join(block).splitlines()
        if command.startswith("looptck ")
    ]
    assert {"check", "explain"} == {command.split()[1] for command in shown}
    for command in shown:
        verb, *arguments = shlex.split(command, comments=True)[1:]
        in_process = ["--isolation", "none"] if verb == "check" and "--isolation" not in arguments else []
        ran = looptck(verb, *arguments, *in_process)
        assert (command, ran.code, ran.err) == (command, 0, ""), ran.out
    assert json.loads(Path("looptck.json").read_text(encoding="utf-8"))["verdict"] == "pass"
