"""The file that explains mutants which got away: every entry needs its mutant, every such mutant an entry."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.mutants.stages import PLACE, finished

from looptck.suite import PROFILES
from looptck_mutants.systematic.results import Found, read_results
from looptck_mutants.systematic.triage import TriageError, explain, load_triage, own_triage

FILE = """\
[[entry]]
function = "fares.meter.total"
why = "equivalent"
argument = "nobody rides more often"
changes = ['''
- if rides > 3:
+     if rides >= 3:
''']

[[entry]]
function = "fares.meter.total"
why = "outside"
argument = "the fare of four rides is left open"
changes = ['''
- if rides > 3:
+ if rides > 4:
''']
"""


@pytest.fixture
def found(tmp_path: Path) -> list[Found]:
    finished(tmp_path)
    return read_results(tmp_path, [PLACE])


def written(folder: Path, text: str) -> Path:
    file = folder / "triage.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_an_entry_explains_the_mutant_of_its_function_and_change(found: list[Found], tmp_path: Path) -> None:
    explained = explain(found[:2], load_triage(written(tmp_path, FILE)))
    assert {name: entry.why for name, entry in explained.known.items()} == {
        "m-meter.total-1": "equivalent",
        "m-meter.total-2": "outside",
    }
    assert explained.stale == []


def test_an_entry_without_a_mutant_that_gets_away_is_stale(found: list[Found], tmp_path: Path) -> None:
    explained = explain(found[1:2], load_triage(written(tmp_path, FILE)))
    assert list(explained.known) == ["m-meter.total-2"]
    assert explained.stale == ["fares.meter.total: no mutant gets away by - if rides > 3: / + if rides >= 3:"]


def test_a_change_that_gets_away_twice_is_explained_as_often_as_it_is_listed(
    found: list[Found], tmp_path: Path
) -> None:
    entries = load_triage(written(tmp_path, FILE))
    twice = [found[0], replace(found[0], number=7)]
    assert list(explain(twice, entries).known) == ["m-meter.total-1"]
    both = entries[0].model_copy(update={"changes": entries[0].changes * 2})
    assert list(explain(twice, [both]).known) == ["m-meter.total-1", "m-meter.total-7"]
    assert len(explain(found[:1], [both]).stale) == 1


def test_the_same_change_of_another_function_is_not_explained(found: list[Found], tmp_path: Path) -> None:
    entries = load_triage(written(tmp_path, FILE.replace("meter.total", "meter.sum")))
    explained = explain(found, entries)
    assert explained.known == {}
    assert len(explained.stale) == 2


def test_a_file_without_entries_explains_nothing(found: list[Found], tmp_path: Path) -> None:
    explained = explain(found, load_triage(written(tmp_path, "")))
    assert (explained.known, explained.stale) == ({}, [])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('why = "outside"', 'why = "boring"', r"entry\.1\.why: Input should be 'equivalent' or 'outside'"),
        ('argument = "nobody rides more often"\n', "", r"entry\.0\.argument: Field required"),
        ("nobody rides more often", " ", r"entry\.0\.argument: String should match pattern"),
        ("why =", "reason =", r"entry\.0\."),
        ("> 4:", ">= 3:", r"fares\.meter\.total: two entries have the change - if rides > 3: / \+ if rides >= 3:"),
        ("- if rides > 3:\n+ if rides > 4:", "rides > 4", "a change needs lines that begin with - or +"),
        ("[[entry]]", "[[entry]", "Expected"),
    ],
)
def test_a_file_that_says_something_else_is_refused_in_a_line(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in FILE
    with pytest.raises(TriageError, match=r"^triage\.toml: .*" + message) as refused:
        load_triage(written(tmp_path, FILE.replace(old, new)))
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_refused_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(TriageError, match=r"^none\.toml: No such file or directory$"):
        load_triage(tmp_path / "none.toml")


@pytest.mark.parametrize("profile", PROFILES)
def test_the_files_of_the_references_hold_entries_of_their_functions(profile: str) -> None:
    entries = load_triage(own_triage(profile))
    assert entries
    assert {entry.function.partition(".")[0] for entry in entries} == {"looptck_reference"}
