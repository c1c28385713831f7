"""`looptck check` as a user meets it: what it prints, where, and its exit code, above all for targets that are bad."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from looptck import __version__, cli, isolate
from looptck.suite import tests_of
from looptck.suite.evidence import Evidence
from looptck.suite.model import Check, Finding

TARGETS = Path(__file__).parent / "targets"
ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("conformance", "fakes", "reference", "mutants")
PARALLEL = "TestParallelToolsBoundedOrderPreserved"
LIMIT, GRACE = 0.8, 0.4
"""Seconds that a loop has in these tests where it has to be stopped; a correct scenario takes a hundredth of them."""


class Ran:
    """A command that was run: its exit code, and what it printed where."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err
        for stream in (out, err):
            assert "Traceback" not in stream

    @property
    def last(self) -> str:
        """The last line on standard output, without what differs from run to run."""
        return self.out.rstrip().splitlines()[-1].split(" in ")[0]


@pytest.fixture
def looptck(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the command in this process."""
    monkeypatch.setattr(isolate, "GRACE", GRACE)

    def run(*arguments: str) -> Ran:
        code = cli.run(arguments)
        return Ran(code, *capsys.readouterr())

    return run


def started(*arguments: str, folder: Path = ROOT) -> subprocess.Popen[str]:
    """The command in a process of its own, as a shell would start it."""
    path = os.pathsep.join(str(ROOT / name) for name in PACKAGES)
    return subprocess.Popen(
        [sys.executable, "-m", "looptck", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
    )


def command(*arguments: str, stdin: str = "", folder: Path = ROOT) -> Ran:
    """Run the command in a process of its own."""
    with started(*arguments, folder=folder) as process:
        out, err = process.communicate(stdin)
    return Ran(process.returncode, out, err)


def bad(name: str) -> str:
    return str(TARGETS / f"{name}.py")


# the reference


def test_the_reference_passes_everything(looptck: Any) -> None:
    ran = looptck("check", "reference")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert [line.split()[:2] for line in lines[:12]] == [["pass", test.name] for test in tests_of("ag03")]
    checks = sum(len(test.checks) for test in tests_of("ag03"))
    assert ran.last == f"PASS reference against ag03: {checks} pass"


@pytest.mark.parametrize("isolation", ["fork", "none"])
def test_a_seed_is_drawn_and_printed_or_taken_and_printed(looptck: Any, isolation: str) -> None:
    assert looptck("check", "reference", "-k", "hand/answer", "--seed", "77", "--isolation", isolation).out.endswith(
        "(seed 77)\n"
    )
    seeds = {looptck("check", "reference", "-k", "hand/answer").out.rpartition("(seed ")[2] for _ in range(3)}
    assert len(seeds) > 1


# loops that misbehave in one scenario: it costs that scenario, and nothing else


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [
        ("hangs", 1, "nothing more could happen, and there was no result"),
        ("exits_in_a_run", 1, "the loop raised SystemExit: I give up"),
        ("os_exits_in_a_run", 1, "the loop ended the process with exit code 0"),
        ("raises_base_exception", 1, "the loop raised GameOver: no more coins"),
        ("reads_stdin", 1, "the loop could not be invoked: EOFError: EOF when reading a line"),
        (
            "spins",
            2,
            "the real-time limit passed while the event loop had no turn: something computes or blocks without await",
        ),
        ("spins_politely", 2, "the real-time limit passed before the run ended"),
    ],
)
def test_a_loop_that_misbehaves_once_is_told_why_and_the_rest_is_judged(
    looptck: Any, name: str, code: int, told: str
) -> None:
    (checks,) = [test.checks for test in tests_of("ag03") if test.name == PARALLEL]
    verdict = {1: "fail", 2: "incomplete"}[code]
    impatient = ["--limit", str(LIMIT)] if verdict == "incomplete" else []
    ran = looptck("check", bad(name), "-k", PARALLEL, "--seed", "4", *impatient)
    assert (ran.code, ran.err) == (code, "")
    assert f"  {told}\n" in ran.out
    assert ran.last == f"{verdict.upper()} {bad(name)} against ag03: {len(checks) - 1} pass, 1 {verdict}"
    assert f"  again: looptck check {bad(name)} --profile ag03 -k parallel/one-slot --seed 4\n" in ran.out


@pytest.mark.parametrize(
    "name", ["floods_stdout", "leaves_threads", "leaves_stubborn_tasks", "forks_and_stays", "import_starts_threads"]
)
def test_a_loop_that_is_untidy_and_right_passes_where_only_answers_count(looptck: Any, name: str) -> None:
    ran = looptck("check", bad(name), "-k", PARALLEL, "--seed", "4")
    assert (ran.code, ran.err) == (0, "")
    assert ran.last.startswith(f"PASS {bad(name)} against ag03: ")


def test_a_loop_that_leaves_tasks_behind_is_noted_as_bad_manners(looptck: Any) -> None:
    ran = looptck("check", bad("leaves_tasks"), "-k", "TestEventsOptional", "--seed", "4")
    assert ran.code == 0
    assert "of good sense failed" in ran.out
    assert "housekeeping" in ran.out
    assert "(should)" in ran.out


def test_a_loop_that_lacks_methods_fails_the_checks_that_need_them(looptck: Any) -> None:
    ran = looptck("check", bad("no_transcript"), "-k", "TestHandExample", "--seed", "4")
    assert ran.code == 1
    failed = {line.split()[1] for line in ran.out.splitlines() if line.startswith("fail ") and "/" in line.split()[1]}
    assert failed >= {"hand/transcript", "hand/usage"}
    assert not failed & {"hand/answer", "hand/model-calls", "hand/tool-runs", "hand/events"}
    assert "the stream has no method transcript(); the stream has no method usage()" in ran.out


def test_a_loop_with_a_constructor_of_its_own_fails_with_its_own_error(looptck: Any) -> None:
    ran = looptck("check", bad("needs_arguments"), "-k", "TestHandExample")
    assert ran.code == 1
    told = "the loop could not be invoked: TypeError: Agent.__init__() got an unexpected keyword argument 'provider'"
    assert ran.out.count(told) == 1


def test_a_loop_without_a_stream_is_incomplete(looptck: Any) -> None:
    ran = looptck("check", bad("no_result"), "-k", "TestHandExample")
    assert ran.code == 2
    told = "what Agent.invoke returned has no method events(), result(), transcript(), usage()"
    assert ran.out.count(told) == 1


# targets that cannot be used


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("does_not_import", "cannot be imported: ModuleNotFoundError: No module named 'a_module_that_nobody_has'"),
        ("raises_at_import", "cannot be imported: KeyError: 'MODEL_API_KEY' (line 5)"),
        ("exits_at_import", "cannot be imported: SystemExit: usage: exits_at_import QUESTION"),
        ("os_exits_at_import", "importing the target ended the process with exit code 0"),
        ("import_hangs", "importing the target took longer than 1.2 s"),
        ("no_agent", "has no Agent; name another with"),
        ("no_class", ":Agent is no class"),
        ("no_invoke", "Agent has no method invoke(messages)"),
    ],
)
def test_a_target_that_cannot_be_used_is_one_line_and_incomplete(looptck: Any, name: str, told: str) -> None:
    ran = looptck(
        "check", bad(name), "-k", "TestHandExample", *(["--limit", str(LIMIT)] if name == "import_hangs" else [])
    )
    (checks,) = [test.checks for test in tests_of("ag03") if test.name == "TestHandExample"]
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("looptck: ")
    assert told in ran.err
    assert ran.out.strip().count("\n") == 0
    assert ran.last == f"INCOMPLETE {bad(name)} against ag03: {len(checks)} incomplete"


def test_a_target_that_does_not_parse_is_one_line_and_incomplete(looptck: Any, tmp_path: Path) -> None:
    target = tmp_path / "loop.py"
    target.write_text("class Agent:\n  def invoke(self:\n", encoding="utf-8")
    ran = looptck("check", str(target))
    assert ran.code == 2
    assert ran.err == f"looptck: {target} cannot be imported: SyntaxError: '(' was never closed (line 2)\n"


def test_in_this_process_a_target_that_cannot_be_used_is_the_same_line(looptck: Any) -> None:
    for name in ("raises_at_import", "exits_at_import", "no_invoke"):
        forked, here = (looptck("check", bad(name), "-k", "hand/a*", "--isolation", mode) for mode in ("fork", "none"))
        assert (here.code, here.err, here.last) == (forked.code, forked.err, forked.last)


# usage


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["absent.py"], "there is no file absent.py"),
        (["nonsense"], "'nonsense' is no target: give a file (loop.py or loop.py:Name)"),
        ([], "no target: give reference, a file (loop.py or loop.py:Name), or package.module:Name"),
        (["reference", "-k", "no/such"], "no test and no check of ag03 matches 'no/such'; --list shows them"),
        (["reference", "--profile", "ag99"], "there is no profile 'ag99'; there are ag03 and lesson4"),
        (["reference", "--isolation", "jail"], "--isolation is fork or none, not 'jail'"),
        (["reference", "--seed", "x"], "'--seed'"),
        (["reference", "--seed", "-1"], "'--seed'"),
        (["reference", "--limit", "0"], "'--limit'"),
        (["reference", "--jobs", "-2"], "'--jobs'"),
        (["reference", "--no-such-option"], "--no-such-option"),
        (["reference", "another"], "another"),
        (["reference", "-k", "hand/answer", "--json", "no/such/folder/report.json"], "--json no/such/folder/"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_its_own_exit_code(looptck: Any, arguments: list[str], told: str) -> None:
    ran = looptck("check", *arguments)
    assert ran.code == 4
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("looptck: ")
    assert told in ran.err


@pytest.mark.parametrize("arguments", [["no-such-verb"], ["--no-such-option"]])
def test_a_verb_that_is_none_is_usage(looptck: Any, arguments: list[str]) -> None:
    ran = looptck(*arguments)
    assert (ran.code, ran.out) == (4, "")
    assert ran.err.count("\n") == 1


def test_without_a_verb_the_help_is_shown(looptck: Any) -> None:
    ran = looptck()
    assert (ran.code, ran.err) == (0, "")
    assert "Exit codes: 0 every must-check passed" in " ".join(ran.out.split())


def test_the_version_is_told(looptck: Any) -> None:
    ran = looptck("--version")
    assert (ran.code, ran.out, ran.err) == (0, f"looptck {__version__}\n", "")


def test_the_help_of_check_says_that_it_is_no_sandbox(looptck: Any) -> None:
    ran = looptck("check", "--help")
    assert ran.code == 0
    assert "This is no sandbox" in " ".join(ran.out.split())


# listing


def test_tests_and_checks_are_listed_with_what_they_state(looptck: Any) -> None:
    ran = looptck("check", "--list", "-k", "TestSpans")
    assert (ran.code, ran.err) == (0, "")
    head, *lines = ran.out.splitlines()
    (test,) = [test for test in tests_of("ag03") if test.name == "TestSpans"]
    assert head == "TestSpans (section 2.7)"
    assert [line.split(maxsplit=1) for line in lines] == [[check.id, check.statement] for check in test.checks]


def test_listing_needs_no_target_and_runs_none(looptck: Any) -> None:
    assert looptck("check", bad("exits_at_import"), "--list", "-k", "hand/answer").code == 0


# JSON


def test_json_on_standard_output_is_all_there_is_and_people_read_the_other_stream(looptck: Any) -> None:
    ran = looptck("check", bad("hangs"), "-k", PARALLEL, "--json", "-", "--seed", "4")
    assert ran.code == 1
    report = json.loads(ran.out)
    assert (report["schema"], report["target"], report["seed"]) == ("looptck-check-1", bad("hangs"), 4)
    assert report["verdict"] == "fail"
    assert "FAIL" in ran.err


def test_json_goes_to_a_file_and_people_read_as_ever(looptck: Any, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    ran = looptck("check", "reference", "-k", "hand/answer", "--json", str(file))
    assert ran.last == "PASS reference against ag03: 1 pass"
    assert json.loads(file.read_text(encoding="utf-8"))["counts"]["pass"] == 1


def test_json_is_written_for_a_target_that_cannot_be_used(looptck: Any) -> None:
    ran = looptck("check", bad("raises_at_import"), "--json", "-", "-k", "hand/answer")
    (test,) = json.loads(ran.out)["tests"]
    assert (ran.code, test["verdict"]) == (2, "incomplete")
    assert "KeyError: 'MODEL_API_KEY'" in test["checks"][0]["message"]


def test_json_holds_what_the_console_shows(looptck: Any) -> None:
    ran = looptck("check", bad("hangs"), "-k", "parallel/one-slot", "--json", "-", "--seed", "4")
    (check,) = json.loads(ran.out)["tests"][0]["checks"]
    assert (check["expected"], check["seen"]) == (
        {"most in flight": 1, "runs": 3},
        {"most in flight": 0, "runs": 0},
    )
    assert (check["id"], check["level"], check["scenario"]) == ("parallel/one-slot", "must", "one-slot")


# repeating one failure


def test_the_printed_command_repeats_the_failure_with_the_same_values(looptck: Any) -> None:
    first = looptck("check", bad("no_transcript"), "-k", "TestHandExample", "--json", "-", "--seed", "523")
    failed = next(c for c in json.loads(first.out)["tests"][0]["checks"] if c["id"] == "hand/text-beside-calls")
    (again,) = [line for line in first.err.splitlines() if "-k hand/text-beside-calls " in line]
    program, *arguments = again.removeprefix("  again: ").split()
    assert program == "looptck"
    repeated = looptck(*arguments, "--json", "-")
    assert json.loads(repeated.out)["tests"][0]["checks"] == [failed]


# faults of the kit


def test_a_check_that_raises_is_a_fault_of_the_kit_and_not_the_loops(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def confused(_e: Evidence) -> Finding:
        raise LookupError("a bug of the check")

    (test,) = [test for test in tests_of("ag03") if test.name == "TestHandExample"]
    added = Check("hand/confused", test.checks[0].requirement, "It is confused.", ("hand",), confused)
    monkeypatch.setattr(test, "checks", [*test.checks, added])
    assert cli.run(["check", "reference", "-k", "TestHandExample"]) == 3
    out, err = capsys.readouterr()
    assert "LookupError: a bug of the check" in out
    assert (err, f"{len(test.checks) - 1} pass, 1 fault" in out) == ("", True)


@pytest.mark.parametrize("wanted", [False, True])
def test_an_error_that_nobody_expected_is_one_line_and_a_fault_of_the_kit(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    wanted: bool,  # noqa: FBT001
) -> None:
    def broken(*_: object, **__: object) -> Any:
        raise LookupError("two\nlines")

    monkeypatch.setattr("looptck.session.report", broken)
    monkeypatch.setenv("LOOPTCK_TRACEBACK", "1" if wanted else "")
    assert cli.run(["check", "reference", "-k", "hand/answer"]) == 3
    out, err = capsys.readouterr()
    line = "looptck: fault of the kit: LookupError: two lines (LOOPTCK_TRACEBACK=1 shows where)\n"
    assert err.endswith(line)
    assert (err.startswith("Traceback"), out) == (wanted, "")


def test_ctrl_c_is_told_in_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*_: object, **__: object) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("looptck.session.observe_all", pressed)
    assert cli.run(["check", "reference", "-k", "hand/answer"]) == 130
    assert capsys.readouterr().err == "looptck: interrupted\n"


# in a process of its own


def test_the_command_passes_the_reference_and_is_silent_on_the_other_stream() -> None:
    ran = command("check", "reference", "-k", "hand/answer")
    assert (ran.code, ran.err) == (0, "")
    assert ran.last.startswith("PASS reference against ag03: ")


def test_what_a_loop_prints_reaches_nobody_unless_it_matters() -> None:
    ran = command("check", bad("floods_stdout"), "-k", PARALLEL)
    assert (ran.code, ran.err) == (0, "")
    assert "debug:" not in ran.out


def test_what_a_failing_loop_printed_last_is_shown(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(
        "import sys\n"
        "class Agent:\n"
        "    def __init__(self, **options):\n"
        "        print('hello from the loop')\n"
        "        print('and its other stream', file=sys.stderr)\n"
        "    def invoke(self, messages):\n"
        "        raise LookupError\n",
        encoding="utf-8",
    )
    ran = command("check", "loop.py", "-k", "hand/answer", folder=tmp_path)
    assert (ran.code, ran.err) == (1, "")
    assert "the loop printed, at the end: 'hello from the loop\\nand its other stream\\n'" in ran.out


def test_without_isolation_what_a_loop_prints_does_not_mix_with_json() -> None:
    ran = command("check", bad("floods_stdout"), "-k", PARALLEL, "--isolation", "none", "--json", "-")
    assert ran.code == 0
    assert json.loads(ran.out)["verdict"] == "pass"
    assert "debug:" in ran.err


@pytest.mark.parametrize("name", ["raises_base_exception", "hangs", "exits_in_a_run"])
def test_without_isolation_a_loop_that_misbehaves_costs_its_scenario_only(
    looptck: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    forked, here = (
        looptck("check", bad(name), "-k", PARALLEL, "--seed", "4", "--isolation", mode) for mode in ("fork", "none")
    )
    assert (here.code, here.err, here.last) == (forked.code, forked.err, forked.last)


def test_without_isolation_a_loop_that_exits_leaves_no_trace_on_the_other_stream() -> None:
    ran = command("check", bad("exits_in_a_run"), "-k", "parallel/one-slot", "--isolation", "none")
    assert (ran.code, ran.err) == (1, "")


def test_a_reader_who_has_enough_is_no_error() -> None:
    with started("check", "--list") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
    assert (process.returncode, err) == (130, "")


def test_ctrl_c_is_one_line_and_leaves_nobody_behind(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(
        "import signal\nready = open('ready', 'w')\nready.write('.')\nready.flush()\nsignal.pause()\n", encoding="utf-8"
    )
    os.mkfifo(tmp_path / "ready")
    with (
        started("check", "loop.py", folder=tmp_path) as process,
        (tmp_path / "ready").open(encoding="utf-8") as ready,
    ):
        assert ready.read(1) == "."
        process.send_signal(signal.SIGINT)
        assert ready.read() == "", "the child that imports the target is gone"
        assert process.stderr is not None
        assert process.stderr.read() == "looptck: interrupted\n"
    assert process.returncode == 130
