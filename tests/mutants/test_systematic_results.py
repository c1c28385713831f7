"""What mutmut and the plugin wrote, read: which mutants there are, what each changes, what became of it."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from tests.mutants.stages import GENERATED, KEYS, PLACE, SOURCE, finished, record

from looptck_mutants.patchfile import apply, parse
from looptck_mutants.systematic.recording import record_file
from looptck_mutants.systematic.results import ResultsError, change_of, read_recorded, read_results
from looptck_mutants.systematic.settings import MUTATED


def test_every_mutant_has_its_function_its_number_and_an_id_without_the_package(tmp_path: Path) -> None:
    finished(tmp_path)
    found = read_results(tmp_path, [PLACE])
    assert [(mutant.function, mutant.number) for mutant in found] == [
        ("fares.meter.total", 1),
        ("fares.meter.total", 2),
        ("fares.meter.Meter.fare", 1),
    ]
    assert [mutant.id for mutant in found] == ["m-meter.total-1", "m-meter.total-2", "m-meter.Meter.fare-1"]


def test_a_diff_is_a_patch_of_the_source_and_not_of_what_mutmut_made_of_it(tmp_path: Path) -> None:
    finished(tmp_path)
    for mutant, old, new in zip(
        read_results(tmp_path, [PLACE]), ("> 3", "> 3", ") + 1"), (">= 3", "> 4", ") - 1"), strict=True
    ):
        patched = apply(parse(mutant.diff, mutant.id, package="fares"), {"fares.meter": SOURCE})
        assert patched == {"fares.meter": SOURCE.replace(old, new)}


NO_NEWLINE = (SOURCE.removesuffix("\n"), GENERATED.removesuffix("\n"))
PAGES = tuple(text.replace("        return BASE\n", "        return BASE\n    \f\n") for text in (SOURCE, GENERATED))
BREAKS = tuple(text.replace("BASE = 4", 'BASE = 4\nRULE = "a\x0c\x0c\x1c\u2028b"') for text in (SOURCE, GENERATED))


@pytest.mark.parametrize(("source", "generated"), [NO_NEWLINE, PAGES, BREAKS], ids=["no newline", "pages", "breaks"])
def test_a_source_may_end_without_a_newline_and_hold_what_breaks_lines_elsewhere(
    source: str, generated: str, tmp_path: Path
) -> None:
    assert source != SOURCE
    finished(tmp_path, source=source, generated=generated)
    for mutant, old, new in zip(
        read_results(tmp_path, [PLACE]), ("> 3", "> 3", ") + 1"), (">= 3", "> 4", ") - 1"), strict=True
    ):
        assert len(mutant.change.split("\n")) == 2
        patched = apply(parse(mutant.diff, mutant.id, package="fares"), {"fares.meter": source})
        assert patched == {"fares.meter": source.replace(old, new)}


def test_a_module_is_parsed_once_however_many_mutants_it_has(tmp_path: Path) -> None:
    finished(tmp_path)
    parsed: list[str] = []

    def parse_noted(source: str) -> ast.AST:
        parsed.append(source)
        return compile(source, "", "exec", ast.PyCF_ONLY_AST)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ast, "parse", parse_noted)
        found = read_results(tmp_path, [PLACE])
    assert len(found) == 3
    assert sorted(parsed) == sorted([SOURCE, GENERATED])


def test_a_change_is_its_lines_without_indentation(tmp_path: Path) -> None:
    finished(tmp_path)
    assert [mutant.change for mutant in read_results(tmp_path, [PLACE])] == [
        "- if rides > 3:\n+ if rides >= 3:",
        "- if rides > 3:\n+ if rides > 4:",
        "- return total(rides) + 1\n+ return total(rides) - 1",
    ]
    assert change_of("--- a\n+++ a\n@@ -1 +1 @@\n--x\n+-y\n") == "- -x\n+ -y"


@pytest.mark.parametrize(
    ("code", "lines", "fate"),
    [
        (0, [], ("survived", "nothing failed")),
        (33, [], ("survived", "no test reaches it")),
        (33, [{"a/b": ["fail", "of an earlier run"]}], ("survived", "no test reaches it")),
        (1, [{"a/b": ["fail", "no"]}], ("killed", "")),
        (-24, [{"a/b": ["fail", "no"]}], ("killed", "")),
        (-24, [], ("timeout", "the run was stopped, and nothing had failed before")),
        (1, [{"a/c": ["incomplete", "it hung"]}], ("timeout", "a/c could not be judged: it hung")),
        (1, [], ("broken", "the run ended with 1, and no test said anything")),
        (-11, [], ("broken", "the run ended with -11, and no test said anything")),
        (1, [{"a": ["error", "no\nmore"]}], ("survived", "a ended with an error, which is no assertion: no")),
        (1, [{"a": ["error", "no"]}, {"b": ["fail", "no"]}], ("killed", "")),
        (-11, [{"a": ["error", "no"]}], ("broken", "the run ended with -11, and no test said anything")),
        (None, [{"a/b": ["fail", "of an earlier run"]}], ("broken", "mutmut has not run it")),
    ],
)
def test_what_became_of_a_mutant_rests_on_what_the_tests_said_before_the_exit_code(
    code: int | None, lines: list[dict[str, list[str]]], fate: tuple[str, str], tmp_path: Path
) -> None:
    finished(tmp_path, (code, 0, 0))
    record(tmp_path, KEYS[0], *lines)
    assert read_results(tmp_path, [PLACE])[0].fate() == fate


@pytest.mark.parametrize("code", [33, None])
def test_records_of_an_earlier_run_are_no_kills_of_a_mutant_that_was_not_run(code: int | None, tmp_path: Path) -> None:
    finished(tmp_path, (code, 0, 0))
    record(tmp_path, KEYS[0], {"a/b": ["fail", ""], "a/c": ["fault", "ours"]})
    recorded = read_results(tmp_path, [PLACE])[0].recorded
    assert (recorded.failed, recorded.faults) == ((), {})


def test_records_are_told_apart_by_verdict_and_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    later = {"a": ["fail", ""], "d": ["incomplete", "x"], "e": ["error", "y"]}
    record(tmp_path, KEYS[0], {"b": ["fail", ""], "c": ["fault", "ours"]}, later)
    with record_file(tmp_path, KEYS[0]).open("a", encoding="utf-8") as file:
        file.write('{"f": ["fai')
    recorded = read_recorded(tmp_path, KEYS[0])
    assert recorded.failed == ("a", "b")
    assert (recorded.unjudged, recorded.faults, recorded.errors) == ({"d": "x"}, {"c": "ours"}, {"e": "y"})


def test_records_of_the_unmutated_loop_have_one_file_whichever_run_wrote_them(tmp_path: Path) -> None:
    record(tmp_path, "stats", {"a": ["fail", ""]})
    assert read_recorded(tmp_path).failed == ("a",)
    assert record_file(tmp_path, "") == record_file(tmp_path, "stats")


@pytest.mark.parametrize("damage", ["missing", "no json", "other keys", "other source"])
def test_results_in_another_form_are_refused_in_a_line(damage: str, tmp_path: Path) -> None:
    finished(tmp_path)
    meta = tmp_path / MUTATED / f"{PLACE}.meta"
    if damage == "missing":
        meta.unlink()
    elif damage == "no json":
        meta.write_text("{", encoding="utf-8")
    elif damage == "other keys":
        meta.write_text(json.dumps({"exit_code_by_key": {"x.y": 0}}), encoding="utf-8")
    else:
        (tmp_path / PLACE).write_text("def total(): ...\n", encoding="utf-8")
    with pytest.raises(ResultsError, match=r"^the results of mutmut for fares/meter\.py cannot be read: \w+Error"):
        read_results(tmp_path, [PLACE])
