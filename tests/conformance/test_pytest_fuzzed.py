"""The fuzzer and scenario files inside pytest: an item for the search, and one for each file."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from tests.conformance.pytest_runs import BROKEN, EXAMPLES, outcomes, suite

from looptck.fuzz.observing import Observer
from looptck.fuzz.saved import FOLDER
from looptck.pytest_suite import settings

pytest_plugins = ["pytester"]

SEARCH = "test_fuzzed[fuzz/as-predicted]"


def test_a_search_is_an_item_that_passes(pytester: pytest.Pytester) -> None:
    ran = suite(pytester, "--loop-fuzz=20", "-k", "fuzz/as-predicted")
    assert outcomes(ran) == {"passed": 1}
    assert not (pytester.path / "looptck.found").exists()


def test_what_it_finds_fails_is_told_and_kept(pytester: pytest.Pytester) -> None:
    ran = suite(pytester, "--loop-fuzz=100", "-k", "fuzz/as-predicted", loop=BROKEN)
    assert outcomes(ran) == {"failed": 1}
    kept = [file.name for file in (pytester.path / "looptck.found").iterdir()]
    assert "ag03-tool-call-budget.json" in kept
    text = ran.stdout.str()
    assert "breaks tool-call-budget" in text
    assert f"again: looptck replay {BROKEN}" in text
    assert "Traceback" not in text


def test_what_it_had_found_is_kept_where_the_run_is_interrupted(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    observe, numbers = Observer.observe, count(1)

    def observed(self: Observer, scenario: Any) -> Any:
        if next(numbers) == 100:
            raise KeyboardInterrupt
        return observe(self, scenario)

    monkeypatch.setattr(Observer, "observe", observed)
    with pytest.raises(KeyboardInterrupt):
        suite(pytester, "--loop-fuzz=1000", "-k", "fuzz/as-predicted", loop=BROKEN)
    assert (pytester.path / FOLDER / "ag03-tool-call-budget.json").exists()


def test_a_folder_that_cannot_be_written_is_a_line(pytester: pytest.Pytester) -> None:
    (pytester.path / FOLDER).write_text("")
    ran = suite(pytester, "--loop-fuzz=100", "-k", "fuzz/as-predicted", loop=BROKEN)
    text = ran.stdout.str()
    assert f"{FOLDER} beside the ini file cannot be written: " in text
    assert "Traceback" not in text
    assert "passed" not in outcomes(ran)


def test_scenario_files_are_items(pytester: pytest.Pytester) -> None:
    ran = suite(pytester, f"--loop-scenarios={EXAMPLES / 'scenarios'}", "-k", "scenario/")
    assert outcomes(ran) == {"passed": len(list((EXAMPLES / "scenarios").glob("*.json")))}


def test_without_hypothesis_it_says_what_to_install(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "find_spec", lambda _name: None)
    ran = suite(pytester, "--loop-fuzz=20")
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    assert 'it needs hypothesis: python -m pip install "looptck[fuzz]"' in ran.stderr.str()
