"""Suites that want to kill mutants by anything but looking at what the loop does: none of it earns them one.

Slower than others: each starts a few dozen runs of pytest, in forked children.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.mutants.grading import HONEST, graded, mutant, project, reasons, written

from looptck_mutants.outcome import MutantsReport
from looptck_mutants.suites.forking import Zygotes

LIARS = """
import inspect, os, pathlib, sys, tempfile, types
import pytest
from helpers import model_calls

OUTSIDE = pathlib.Path(r"{outside}")


def executions(name):
    with (OUTSIDE / name).open("a") as file:
        file.write(".")
    return (OUTSIDE / name).stat().st_size


def functions(code, found):
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found[constant.co_qualname] = constant
            functions(constant, found)
    return found


def as_on_disk(loop_class):
    file = sys.modules[loop_class.__module__].__file__
    return functions(compile(pathlib.Path(file).read_text(), file, "exec"), {{}})


def running(loop_class):
    return loop_class.invoke.__code__


def test_fails_always(loop_class):
    assert False


def test_fails_the_second_time(loop_class):
    assert executions("second") != 2


def test_fails_later(loop_class):
    assert executions("later") <= 4


def test_fails_where_it_was_before(loop_class):
    for folder in {{os.getcwd(), os.path.dirname(__file__), os.path.expanduser("~"), tempfile.gettempdir()}}:
        marker = pathlib.Path(folder) / "marker"
        assert not marker.exists()
        marker.touch()


def test_reads_the_source(loop_class):
    module = sys.modules[loop_class.__module__]
    assert inspect.getsource(module) == pathlib.Path(module.__file__).read_text()
    assert module.__loader__.get_source(module.__name__) == inspect.getsource(module)
    assert module.__loader__.get_data(module.__file__) == pathlib.Path(module.__file__).read_bytes()


def test_compares_bytecode(loop_class):
    code = running(loop_class)
    assert code.co_code == as_on_disk(loop_class)[code.co_qualname].co_code


def test_compares_constants(loop_class):
    code = running(loop_class)
    assert code.co_consts == as_on_disk(loop_class)[code.co_qualname].co_consts


def test_compares_lines(loop_class):
    code = running(loop_class)
    assert code.co_firstlineno == as_on_disk(loop_class)[code.co_qualname].co_firstlineno


def test_tries_the_patches(loop_class):
    module = sys.modules["looptck_reference"]
    here = {{name: each.__code__.co_code for name, each in vars(loop_class).items() if inspect.isfunction(each)}}
    for file in pathlib.Path(r"{patches}").glob("*.patch"):
        added = [line[1:] for line in file.read_text().splitlines() if line[:1] == "+" and line[:3] != "+++"]
        for code in functions(compile("\\n".join(added), "added", "exec"), {{}}).values():
            assert here.get(code.co_name) != code.co_code


def test_leaves_with_0(loop_class):
    os._exit(0)


def test_leaves_with_1(loop_class):
    os._exit(1)


def test_raises_system_exit(loop_class):
    raise SystemExit(1)


def test_stops_the_session(loop_class):
    pytest.exit("enough", 1)


def test_writes_where_results_are_sent(loop_class):
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b'{{"kind": "end", "test": 1}}\\n')
        except OSError:
            pass


def test_never_ends(loop_class):
    while True:
        pass


def test_is_skipped(loop_class):
    pytest.skip("not today")


def test_max_iter_stops(loop_class):
    pass


test_max_iter_stops.__name__ = "max-iter/model-calls"
"""
OUTCOMES = {
    "test_fails_always": "fails on the unmutated loop: AssertionError",
    "test_fails_the_second_time": "fails by chance, or for the order of the tests: AssertionError",
    "test_fails_later": "fails by chance: it passed on the unmutated loop first, and not later",
    "test_fails_where_it_was_before": "",
    "test_reads_the_source": "",
    "test_compares_bytecode": "looks at the source: it fails when the same loop is written differently: Assert",
    "test_compares_constants": "looks at the source: it fails when the same loop is written differently: Assert",
    "test_compares_lines": "looks at the source: it fails when the same loop is written differently: Assert",
    "test_tries_the_patches": "",
    "test_leaves_with_0": "fails on the unmutated loop: ended its process",
    "test_leaves_with_1": "fails on the unmutated loop: ended its process",
    "test_raises_system_exit": "fails on the unmutated loop: SystemExit: 1",
    "test_stops_the_session": "fails on the unmutated loop: ended its process",
    "test_writes_where_results_are_sent": "fails on the unmutated loop: wrote into what its results are sent by",
    "test_never_ends": "fails on the unmutated loop: is over the limit of 3.0 s",
    "test_is_skipped": "skipped",
    "test_max_iter_stops": "",
    "test_the_cap": "",
}
"""Each test of the liars, and how the reason begins for which it does not count."""


@pytest.fixture(scope="module")
def zygotes() -> Iterator[Zygotes]:
    with Zygotes([], 2) as zygotes:
        yield zygotes


@pytest.fixture(scope="module")
def lied(zygotes: Zygotes, tmp_path_factory: pytest.TempPathFactory) -> MutantsReport:
    """All liars and an honest test in one suite."""
    root = tmp_path_factory.mktemp("liars")
    outside = root / "outside"
    outside.mkdir()
    of = project(root / "patches")
    liars = LIARS.format(outside=outside, patches=root / "patches")
    return graded(written(root / "suite", test_honest=HONEST, test_liars=liars), of, zygotes, root / "copy")


def test_every_liar_is_known(lied: MutantsReport) -> None:
    assert sorted(reasons(lied)) == sorted(OUTCOMES)


@pytest.mark.parametrize("test", OUTCOMES)
def test_a_test_counts_only_if_it_passes_on_the_unmutated_loop_whenever_it_is_run(
    test: str, lied: MutantsReport
) -> None:
    reason, expected = reasons(lied)[test], OUTCOMES[test]
    assert reason.startswith(expected)
    assert bool(reason) is bool(expected)


def test_what_the_honest_test_kills_nobody_else_does(lied: MutantsReport) -> None:
    assert lied.suite is not None
    assert mutant(lied, "more").killed_by == ["test_honest.py::test_the_cap"]
    assert mutant(lied, "same").killed_by == []
    assert {test.id: test.kills for test in lied.suite.tests if test.kills} == {"test_honest.py::test_the_cap": 1}


def test_where_tests_do_not_count_the_run_is_incomplete_whatever_was_killed(lied: MutantsReport) -> None:
    assert (mutant(lied, "more").verdict, lied.baseline.verdict, lied.exit_code()) == ("killed", "incomplete", 2)


# ----------------------------------------------------------------------------------------------- conftests and modules

TURNED = """
import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    report.outcome = "failed" if report.passed else "passed"
    return report
"""
RAISING = """
import pytest


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    yield
    raise AssertionError("whatever the test says")
"""
EXIT_CODES = """
import os, pytest


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    session.exitstatus = 1
    os._exit(1)


def pytest_unconfigure(config):
    os._exit(1)
"""
NOTHING = """
def test_nothing(loop_class):
    pass
"""


@pytest.mark.parametrize("conftest", [TURNED, RAISING], ids=["turned", "raising"])
def test_a_conftest_that_makes_failures_makes_them_on_the_unmutated_loop_too(
    conftest: str, zygotes: Zygotes, tmp_path: Path
) -> None:
    suite = written(tmp_path / "suite", conftest=conftest, test_nothing=NOTHING)
    report = graded(suite, project(tmp_path / "patches"), zygotes, tmp_path / "copy")
    assert reasons(report)["test_nothing"].startswith("fails on the unmutated loop")
    assert {mutant.verdict for mutant in report.mutants} == {"survived"}
    assert {mutant.message for mutant in report.mutants} == {"no test counts"}
    assert report.exit_code() == 2


def test_nobody_looks_at_pytests_exit_code(zygotes: Zygotes, tmp_path: Path) -> None:
    suite = written(tmp_path / "suite", conftest=EXIT_CODES, test_nothing=NOTHING, test_honest=HONEST)
    report = graded(suite, project(tmp_path / "patches"), zygotes, tmp_path / "copy")
    assert reasons(report) == {"test_nothing": "", "test_the_cap": ""}
    assert [mutant.killed_by for mutant in report.mutants] == [["test_honest.py::test_the_cap"], []]


def test_a_suite_that_cannot_be_collected_on_a_mutant_has_not_killed_it(zygotes: Zygotes, tmp_path: Path) -> None:
    text = "from looptck.subject import Agent\nfrom helpers import model_calls\nassert model_calls(Agent) == 2\n"
    suite = written(tmp_path / "suite", test_nothing=text + NOTHING)
    report = graded(suite, project(tmp_path / "patches"), zygotes, tmp_path / "copy")
    more = mutant(report, "more")
    assert (more.verdict, more.killed_by) == ("survived", [])
    assert more.message.startswith("test_nothing.py cannot be collected: ")
    assert "assert 3 == 2" in more.message
    assert report.exit_code() == 1
