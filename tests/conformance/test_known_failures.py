"""Known failures and pinned requirements: what they excuse, and what they do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.commands import bad
from tests.conformance.reports import check, named, reported

from looptck import suite
from looptck.report.excuses import KnownFailuresError, excused, load_known, stale
from looptck.requirements import requirement_set
from looptck.suite import tests_of

BROKEN = "examples/broken_loop.py"
FAILS, ALSO_FAILS, PASSES = "budget/calls-none-run", "budget/calls-whole-run", "hand/answer"


def written(folder: Path, text: str) -> str:
    file = folder / "known.toml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def listed(folder: Path, *ids: str) -> str:
    return written(folder, "".join(f'"{name}" = "issue 12"\n' for name in ids))


# the file


def test_a_file_is_ids_and_reasons(tmp_path: Path) -> None:
    file = written(tmp_path, f'# as of today\n"{FAILS}" = """late:\n  issue 12"""\n')
    assert load_known(file, "ag03") == {FAILS: "late: issue 12"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('"no/such" = "why"', "no check of ag03 is called 'no/such'"),
        (f'"{FAILS}" = ""', "give a reason"),
        (f'"{FAILS}" = 3', "give a reason"),
        (f'["{FAILS}"]\nreason = "why"', "give a reason"),
        (f"{FAILS} = 'why'", "Expected '='"),
        (f'"{FAILS}" = "a"\n"{FAILS}" = "b"', "Cannot overwrite"),
        ('"repeat/never-run" = "why"', "no check of ag03"),
    ],
)
def test_a_file_of_another_form_is_refused_in_one_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(KnownFailuresError, match=r"known\.toml: ") as error:
        load_known(written(tmp_path, text), "ag03")
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_is_a_usage_error(looptck: Any, tmp_path: Path) -> None:
    ran = looptck("check", "reference", "--known-failures", str(tmp_path / "none.toml"))
    assert (ran.code, ran.out) == (4, "")
    assert "none.toml: No such file or directory" in ran.err


# what they do


@pytest.mark.parametrize("verdict", ["fail", "incomplete"])
def test_a_known_failure_decides_nothing_beside_others(verdict: str) -> None:
    test = excused(named(check("a/one", verdict), check("a/two")), {"a/one": "issue 12"}, 1)
    assert (test.verdict, test.checks[0].known, test.checks[0].verdict) == ("pass", "issue 12", verdict)


def test_where_nothing_could_be_judged_nothing_is_green() -> None:
    checks = [check("a/one", "incomplete"), check("a/two", "incomplete")]
    test = excused(named(*checks), {"a/one": "why", "a/two": "so"}, 1)
    assert (test.verdict, reported(test).exit_code()) == ("incomplete", 2)


def test_a_file_may_begin_with_the_mark_that_some_editors_write(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    file.write_bytes(b'\xef\xbb\xbf"hand/answer" = "why"\n')
    assert load_known(str(file), "ag03") == {"hand/answer": "why"}


def test_a_target_that_cannot_be_used_is_incomplete_whatever_is_known(looptck: Any, tmp_path: Path) -> None:
    ran = looptck("check", bad("raises_at_import"), "-k", PASSES, "--known-failures", listed(tmp_path, PASSES))
    assert (ran.code, ran.last) == (2, f"INCOMPLETE {bad('raises_at_import')} against ag03: 1 incomplete (1 known)")


def test_others_still_decide() -> None:
    assert excused(named(check("a/one", "fail"), check("a/two", "fail")), {"a/one": "why"}, 1).verdict == "fail"


def test_a_fault_of_the_kit_is_never_excused() -> None:
    assert excused(named(check("a/one", "fault")), {"a/one": "why"}, 1).verdict == "fault"


@pytest.mark.parametrize(("verdict", "told"), [("pass", "passes"), ("skip", "is skipped")])
def test_an_entry_that_does_not_fail_is_stale_and_fails_the_run(verdict: str, told: str) -> None:
    tests = [excused(named(check("a/one", verdict), check("a/two")), {"a/one": "why"}, 1)]
    lines = stale(tests, {"a/one": "why"})
    assert lines == [f"a/one is listed as a known failure, and {told}"]
    made = reported(*tests, stale=tuple(lines))
    assert (made.verdict, made.exit_code()) == ("fail", 1)


def test_an_entry_that_was_not_run_is_let_be() -> None:
    assert stale([named(check("a/two"))], {"a/one": "why"}) == []


def test_the_command_is_green_where_all_that_fails_is_known(looptck: Any, tmp_path: Path) -> None:
    file = listed(tmp_path, FAILS, ALSO_FAILS)
    ran = looptck("check", BROKEN, "-k", "budget/calls-[nw]*", "--known-failures", file)
    assert ran.code == 0
    assert f"known {FAILS}  issue 12" in ran.out
    assert "≠" not in ran.out


def test_the_command_names_an_entry_that_passes_and_exits_with_1(looptck: Any, tmp_path: Path) -> None:
    ran = looptck("check", "reference", "-k", PASSES, "--known-failures", listed(tmp_path, PASSES))
    assert ran.code == 1
    assert f"stale {PASSES} is listed as a known failure, and passes: take it out" in ran.out
    assert ran.last == "FAIL reference against ag03: 1 pass"


def test_the_reasons_stand_in_the_json(looptck: Any, tmp_path: Path) -> None:
    ran = looptck("check", BROKEN, "-k", FAILS, "--known-failures", listed(tmp_path, FAILS), "--json", "-")
    report = json.loads(ran.out)
    assert report["tests"][0]["checks"][0]["known"] == "issue 12"
    assert report["stale"] == []


# versions


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kit whose requirements are at version 2, which brought one check that the broken loop fails."""
    for test in tests_of("ag03"):
        for place, one in enumerate(test.checks):
            if one.id == FAILS:
                changed = [*test.checks]
                changed[place] = type(one)(**{field: getattr(one, field) for field in one.__slots__} | {"since": 2})
                monkeypatch.setattr(test, "checks", changed)
    newest = requirement_set("ag03").model_copy(update={"version": 2})
    for module in ("looptck.requirements", "looptck.session"):
        monkeypatch.setattr(f"{module}.requirement_set", lambda _profile: newest)


def test_what_is_newer_than_pinned_is_news_and_decides_nothing() -> None:
    test = excused(named(check("a/one", "fail", since=2), check("a/two")), {}, 1)
    assert (test.verdict, test.checks[0].news, test.checks[0].verdict) == ("pass", True, "fail")
    assert excused(test, {}, 2).verdict == "fail"


@pytest.mark.usefixtures("newer")
def test_a_newer_kit_breaks_nobody_who_has_pinned_a_version(looptck: Any) -> None:
    ran = looptck("check", BROKEN, "-k", FAILS, "--requirements", "1")
    assert ran.code == 0
    assert f"fail {FAILS} (news since requirements 2, must)" in ran.out
    assert looptck("check", BROKEN, "-k", FAILS).code == 1
    assert looptck("check", BROKEN, "-k", FAILS, "--requirements", "2").code == 1


def test_a_version_that_is_not_there_yet_is_refused(looptck: Any) -> None:
    ran = looptck("check", "reference", "--requirements", "99")
    assert (ran.code, ran.err) == (4, "looptck: --requirements 99: the newest of ag03 is 1 (looptck --help)\n")


def test_no_check_is_newer_than_the_requirements() -> None:
    for profile in suite.PROFILES:
        newest = requirement_set(profile).version
        assert all(one.since <= newest for test in tests_of(profile) for one in test.checks)


def test_the_verb_says_what_its_options_are(looptck: Any) -> None:
    out = looptck("check", "--help").out
    for option in ("--junit", "--html", "--report", "--output-format", "--known-failures", "--requirements"):
        assert option in out
