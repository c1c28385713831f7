"""The pytest plugin: nothing for who does not ask; its options, their twins in the ini file, and errors in them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conformance.pytest_runs import BROKEN, EXAMPLES, SEED, ids, outcomes, suite

from looptck.pytest_plugin import OPTIONS

pytest_plugins = ["pytester"]

NOTING = """
import json, pathlib, sys

def pytest_collection_finish(session):
    manager, hooks = session.config.pluginmanager, vars(session.config.hook)
    noted = {
        "hooks": {
            name: sorted(impl.plugin_name for impl in caller.get_hookimpls() if not impl.plugin_name.isdecimal())
            for name, caller in hooks.items() if not name.startswith("_")
        },
        "markers": session.config.getini("markers"),
        "items": [item.nodeid for item in session.items],
        "modules": sorted(name for name in sys.modules if name.partition(".")[0].startswith("looptck")),
    }
    pathlib.Path("noted.json").write_text(json.dumps(noted))
"""
OWN = "import pytest\n@pytest.mark.parametrize('n', [1, 2])\ndef test_own(n): assert n\n"
AFTER_IMPORT = "import sys, {0}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"


# who does not ask


def test_the_entry_imports_the_standard_library_alone() -> None:
    def loaded(module: str) -> set[str]:
        code = AFTER_IMPORT.format(module)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        return set(done.stdout.split())

    new = loaded("looptck.pytest_plugin") - loaded("typing, __future__")
    assert new == {"looptck"}


def test_a_run_that_does_not_ask_has_the_same_hooks_markers_and_items_and_loads_nothing(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(NOTING)
    pytester.makepyfile(OWN)

    def noted(*options: str) -> dict[str, object]:
        assert pytester.runpytest_subprocess(*options).ret == 0
        found: dict[str, object] = json.loads(Path("noted.json").read_text(encoding="utf-8"))
        return found

    without, idle = noted("-p", "no:looptck"), noted()
    assert idle.pop("modules") == ["looptck", "looptck.pytest_plugin"]
    assert without.pop("modules") == []
    hooks = idle["hooks"]
    assert isinstance(hooks, dict)
    for name in ("pytest_addoption", "pytest_configure"):
        hooks[name].remove("looptck")
    assert idle == without


# the options


def test_every_option_is_in_one_group_and_has_a_twin_in_the_ini_file(pytester: pytest.Pytester) -> None:
    text = pytester.runpytest_inprocess("--help").stdout.str()
    group = text.split("conformance of agent loops (looptck):", 1)[1].split("\n\n", 1)[0]
    twins = text.split("[pytest] configuration options", 1)[1]
    for name in OPTIONS:
        assert f"--{name.replace('_', '-')}=" in group
        assert f"\n  {name} (string):" in twins


def test_the_header_names_what_is_judged(pytester: pytest.Pytester) -> None:
    ran = suite(pytester, "-k", "[hand/answer]")
    ran.stdout.fnmatch_lines_random([f"looptck: reference against ag03, seed {SEED}, requirements 1"])


def test_the_ini_file_says_what_the_command_line_does_not(pytester: pytest.Pytester) -> None:
    pytester.makeini("""
        [pytest]
        addopts = --pyargs looptck.suite -k test_single_tool_then_answer
        loop = loops/mine.py
        loop_profile = lesson4
        loop_seed = 11
        loop_isolation = none
    """)
    pytester.mkdir("loops").joinpath("mine.py").write_text((EXAMPLES / "my_metered_loop.py").read_text())
    ran = pytester.runpytest_inprocess()
    ran.stdout.fnmatch_lines(["looptck: loops/mine.py against lesson4, seed 11, requirements 1"])
    assert set(outcomes(ran)) == {"passed"}


def test_what_the_ini_file_names_lies_beside_it(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makeini("[pytest]\nloop = mine.py\nloop_known_failures = known.toml")
    pytester.path.joinpath("mine.py").write_text((EXAMPLES / "my_loop.py").read_text())
    pytester.path.joinpath("known.toml").write_text('"hand/answer" = "it does not fail"\n')
    monkeypatch.chdir(pytester.mkdir("below"))
    options = ["-c", "../tox.ini", "--rootdir=..", "--pyargs", "looptck.suite", "-k", "hand/"]
    ran = pytester.runpytest_inprocess(*options, "--loop-seed=3")
    ran.stdout.fnmatch_lines(["looptck: ../mine.py against ag03, seed 3, requirements 1"])
    assert ids(ran, "FAILED") == ["hand/answer"]


def test_a_seed_is_drawn_where_none_is_given(pytester: pytest.Pytester) -> None:
    def headline() -> str:
        ran = pytester.runpytest_inprocess("--pyargs", "looptck.suite", "--loop=reference", "--collect-only")
        return next(line for line in ran.outlines if line.startswith("looptck: "))

    assert headline() != headline()  # but for one time in a million


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--loop=gone.py"], "--loop: there is no file gone.py"),
        (["--loop=gone"], "--loop: 'gone' is no target: give a file*"),
        (["--loop-profile=ag04"], "there is no profile 'ag04'; there are ag03 and lesson4"),
        (["--loop-seed=-1"], "--loop-seed -1: give a whole number from 0 on"),
        (["--loop-limit=soon"], "--loop-limit soon: give seconds from 0.1 to 3600"),
        (["--loop-limit=0"], "--loop-limit 0: give seconds from 0.1 to 3600"),
        (["--loop-isolation=cell"], "--loop-isolation cell: give one of fork, process, none"),
        (["--loop-requirements=99"], "--loop-requirements 99: the newest of ag03 is *"),
        (["--loop-requirements=0"], "--loop-requirements 0: give a whole number from 1 on"),
        (["--loop-known-failures=gone.toml"], "--loop-known-failures gone.toml: No such file or directory"),
        (
            ["looptck.suite::test_tea"],
            "there is no looptck.suite::test_tea in ag03; --collect-only shows what there is",
        ),
    ],
)
def test_what_is_wrong_is_one_line_and_a_usage_error(pytester: pytest.Pytester, options: list[str], told: str) -> None:
    ran = suite(pytester, *options)
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    assert len([line for line in ran.errlines if line]) == 1
    ran.stderr.fnmatch_lines([f"ERROR: {told}"])


def test_the_suite_without_a_loop_says_what_is_missing(pytester: pytest.Pytester) -> None:
    ran = pytester.runpytest_inprocess("--pyargs", "looptck.suite")
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    ran.stderr.fnmatch_lines(["ERROR: looptck.suite needs a loop to judge: --loop TARGET*"])


def test_filters_of_warnings_are_not_for_the_loop(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        noisy="""
        import warnings
        import looptck_reference
        class Agent(looptck_reference.Agent):
            def invoke(self, messages):
                warnings.warn("old", DeprecationWarning)
                return super().invoke(messages)
    """
    )
    for isolation in ("fork", "none"):
        ran = suite(pytester, "-W", "error", "-k", "[hand/answer]", f"--loop-isolation={isolation}", loop="noisy.py")
        assert outcomes(ran)["passed"] == 1


def test_a_loop_named_for_another_suite_leaves_other_tests_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(OWN)
    ran = pytester.runpytest_inprocess(f"--loop={BROKEN}")
    assert outcomes(ran) == {"passed": 2}
