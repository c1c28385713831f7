"""Scenarios that are kept: under names of their own, in the order they came, and none over another."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.conformance.fuzz.loops import AG03, ODD, PLAIN, asking

from looptck.fuzz.saved import save
from looptck.lesson4.scenario import Reply, Task
from looptck.lesson4.scenario import Scenario as Metered
from looptck.scenario import Call, ScenarioError, Turn
from looptck.scenario_files import files_in, load

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_saved_is_read_as_the_same_and_is_ascii(tmp_path: Path) -> None:
    scenario = asking("ünï", Turn(calls=(Call(id="a", name="naïve", answer="日本 ☂ \ud800"[:4]),)))
    file = save(tmp_path / "new" / "folder", "ag03-x", scenario)
    assert file.name == "ag03-x.json"
    assert file.read_bytes().isascii()
    assert AG03.scenario_from_json(file.read_text(encoding="ascii")) == scenario


def test_a_name_that_is_taken_is_numbered_and_nothing_is_overwritten(tmp_path: Path) -> None:
    taken = tmp_path / "x.json"
    taken.write_text("mine")
    assert [save(tmp_path, "x", one).name for one in (PLAIN, ODD)] == ["x-2.json", "x-3.json"]
    assert taken.read_text() == "mine"


def test_what_is_there_already_is_not_saved_twice(tmp_path: Path) -> None:
    assert [save(tmp_path, "x", one).name for one in (PLAIN, ODD, ODD, PLAIN)] == [
        "x.json",
        "x-2.json",
        "x-2.json",
        "x.json",
    ]


def test_a_file_that_is_no_text_stands_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(b"\xff\xfe")
    assert save(tmp_path, "x", PLAIN).name == "x-2.json"


def test_a_folder_that_is_a_file_is_an_error_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(OSError, match="exists"):
        save(tmp_path / "x", "x", PLAIN)


# read again, as checks


def test_checks_are_named_after_their_files_and_each_by_a_name_of_its_own(tmp_path: Path) -> None:
    for name in ("One", "one", "ü-2", "---", "a b.c"):
        save(tmp_path, name, PLAIN)
    (tmp_path / "notes.txt").write_text("no scenario")
    files, others = files_in(str(tmp_path), AG03)
    found = load(AG03, files)
    assert others == []
    assert sorted(found) == ["scenario/2", "scenario/a-b-c", "scenario/one", "scenario/one-2", "scenario/unnamed"]
    assert {f"scenario/{scenario.name}" for scenario in found.values()} == set(found)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"\xff", "not UTF-8"),
        (b"{", "the file: Invalid JSON"),
        (b'{"name": "x", "invocations": [{"read": "all", "read": "none"}]}', "read: it comes twice in one object"),
        (b'{"name": "x"}', "invocations: Field required"),
        (b'{"name": "x", "invocations": [{}], "more": 1}', "more: Extra inputs"),
        (b'{"name": "x", "invocations": [{"cancel": "tools"}]}', "invocations.0.cancel: where a run is cut off"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_reason(text: bytes, why: str, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(text)
    with pytest.raises(ScenarioError) as error:
        load(AG03, [file])
    assert str(error.value).startswith(f"{file}: {why}")
    assert "\n" not in str(error.value)


def test_a_folder_without_scenarios_is_none(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="holds no scenario"):
        files_in(str(tmp_path), AG03)
    with pytest.raises(ScenarioError, match="No such file"):
        files_in(str(tmp_path / "x"), AG03)


def test_those_of_another_profile_are_left_out_of_a_folder(tmp_path: Path) -> None:
    own = save(tmp_path, "ag03-x", PLAIN)
    other = save(tmp_path, "lesson4-x", Metered(name="x", runs=(Task(task="go", replies=(Reply(text="Yes."),)),)))
    (tmp_path / "neither.json").write_text("{}")
    files, others = files_in(str(tmp_path), AG03)
    assert (files, others) == ([own, tmp_path / "neither.json"], [other])
    own.unlink()
    (tmp_path / "neither.json").unlink()
    with pytest.raises(ScenarioError, match=r"it holds no scenario of ag03; 1 of another profile$"):
        files_in(str(tmp_path), AG03)


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.json")
    with pytest.raises(ScenarioError, match=r"x\.json: it is no file$"):
        files_in(str(tmp_path), AG03)
