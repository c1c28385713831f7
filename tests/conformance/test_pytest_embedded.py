"""The suite within somebody's own tests: a conftest.py with a loop, several side by side, and errors in one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.conformance.pytest_runs import BROKEN, EXAMPLES, ids, outcomes, shown

from looptck.pytest_plugin import conformance
from looptck.suite import tests_of

pytest_plugins = ["pytester"]

EMBED = """
from looptck.pytest_plugin import conformance
{0}
pytest_collect_file = conformance({1}, here=__file__)
"""
CLASS = "from looptck_reference import Agent"
FUNCTION = "def loop():\n    from looptck_reference import Agent\n    return Agent"
METERED = "def loop():\n    from looptck_reference.metered import Agent\n    return Agent"
ADAPTER = """
from looptck.adapter import ContractAdapter
from looptck_reference import Agent
class Adapter(ContractAdapter):
    lacks = {"max_iter": "there is no limit"}
    def __init__(self):
        super().__init__(Agent)
"""
HOSTILE = """
class Hostile:
    version = "1"
    def __getattr__(self, name):
        raise LookupError(name)
    async def run(self, run): ...
    def __call__(self): ...
loop = Hostile()
"""
FORWARD = "looptck: {0} against {1}, seed *, requirements *"


def embed(folder: str, preamble: str, arguments: str) -> Path:
    """A folder below the current one, with a conftest.py that has a loop and a test of its own."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    (place / "conftest.py").write_text(EMBED.format(preamble, arguments), encoding="utf-8")
    name = folder.replace("/", "_")
    (place / f"test_of_{name}.py").write_text(f"def test_own_{name}(): pass\n", encoding="utf-8")
    return place


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "300")
        return pytester.runpytest_inprocess("--import-mode=importlib", "--strict-markers", *arguments)


@pytest.mark.parametrize(
    ("preamble", "arguments", "name"),
    [
        (CLASS, "Agent", "Agent"),
        (FUNCTION, "loop", "loop"),
        (ADAPTER, "Adapter", "Adapter"),
        (ADAPTER, "Adapter()", "Agent"),
        ("", "'looptck_reference:Agent'", "looptck_reference:Agent"),
        ("", "'reference'", "reference"),
        (METERED, "loop, profile='lesson4'", "loop"),
        ("", "'reference', profile='lesson4'", "reference"),
    ],
)
def test_five_lines_bring_the_suite(pytester: pytest.Pytester, preamble: str, arguments: str, name: str) -> None:
    embed("mine", preamble, arguments)
    profile = "lesson4" if "lesson4" in arguments else "ag03"
    test = tests_of(profile)[0]
    ran = run(pytester, "-k", f"{test.name} or test_own")
    assert outcomes(ran) == {"passed": len(test.checks) + 1}
    ran.stdout.fnmatch_lines([FORWARD.format(name, profile)])


def test_the_items_are_children_of_the_conftest_and_can_be_named(pytester: pytest.Pytester) -> None:
    embed("mine", FUNCTION, "loop")
    (Path("mine") / "below").mkdir()
    (Path("mine") / "below" / "conftest.py").write_text("", encoding="utf-8")
    ran = run(pytester, "--collect-only", "-q")
    assert "mine/conftest.py::test_hand_example[hand/transcript]" in ran.outlines
    checks = sum(len(test.checks) for test in tests_of("ag03"))
    assert len([line for line in ran.outlines if "::" in line]) == checks + 1
    assert outcomes(run(pytester, "mine/conftest.py::test_hand_example[hand/transcript]")) == {"passed": 1}
    assert outcomes(run(pytester, "mine/test_of_mine.py")) == {"passed": 1}


def test_a_failure_says_how_to_repeat_it_here(pytester: pytest.Pytester) -> None:
    embed("mine", "", f"{str(BROKEN)!r}")
    ran = run(pytester, "-k", "budget/calls-none-run", "--loop-seed=5", "--loop-isolation=none")
    (again,) = [line for line in ran.outlines if line.startswith("  again: ")]
    item = "mine/conftest.py::test_budget_stops_before_dispatch[budget/calls-none-run]"
    assert again == f"  again: pytest '{item}' --loop-seed 5 --loop-isolation none"
    assert outcomes(run(pytester, "--lf")) == {"failed": 1}


def test_several_side_by_side_have_loops_and_profiles_of_their_own(pytester: pytest.Pytester) -> None:
    embed("one", "", f"{str(BROKEN)!r}")
    embed("two/deep", "", "'mine.py', profile='lesson4'").joinpath("mine.py").write_text(
        (EXAMPLES / "my_metered_loop.py").read_text(encoding="utf-8"), encoding="utf-8"
    )
    embed("three", FUNCTION, "loop")
    select = ["-k", "budget/calls-none-run or fatal or test_own"]
    for isolation in ("fork", "none"):
        ran = run(pytester, *select, f"--loop-isolation={isolation}")
        assert ids(ran, "FAILED") == ["budget/calls-none-run"]
        for name, profile in (("*broken_loop.py", "ag03"), ("two/deep/mine.py", "lesson4"), ("loop", "ag03")):
            ran.stdout.fnmatch_lines_random([FORWARD.format(name, profile)])
        fatal = len([c for t in tests_of("lesson4") for c in t.checks if "fatal" in f"{t.name} {c.id}"])
        assert outcomes(ran) == {"failed": 1, "passed": fatal + 1 + 3}


def test_workers_have_one_seed_though_none_was_given(pytester: pytest.Pytester) -> None:
    embed("mine", "", f"{str(BROKEN)!r}")
    select = ["-k", "budget/calls-none-run or budget/calls-whole-run"]
    ran = pytester.runpytest_subprocess("-n2", *select)
    again = [line for line in ran.outlines if line.startswith("  again: ")]
    assert len(again) == outcomes(ran)["failed"] == 2
    assert len({line.rpartition("--loop-seed ")[2] for line in again}) == 1


def test_what_the_conftest_pins_and_knows_is_its_own(pytester: pytest.Pytester) -> None:
    known = embed("mine", "", f"{str(BROKEN)!r}, requirements=1, known_failures='known.toml'") / "known.toml"
    known.write_text('"budget/calls-none-run" = "issue 12"\n', encoding="utf-8")
    embed("others", "", f"{str(BROKEN)!r}")
    ran = run(pytester, "-k", "budget/calls-none-run", "-rx")
    assert outcomes(ran) == {"failed": 1, "xfailed": 1}
    ran.stdout.fnmatch_lines(["XFAIL mine/conftest.py::* - known failure (issue 12): *"])


def test_it_works_where_the_plugin_itself_is_switched_off(pytester: pytest.Pytester) -> None:
    embed("mine", FUNCTION, "loop")
    assert outcomes(run(pytester, "-p", "no:looptck", "-k", "[hand/answer]")) == {"passed": 1}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("'reference', profile='ag04'", "conformance: there is no profile 'ag04'; there are ag03 and lesson4"),
        ("'gone.py'", "conformance: loop: there is no file mine/gone.py"),
        ("'reference', requirements=99", "conformance: requirements 99: the newest of ag03 is *"),
        (
            "'reference', known_failures='gone.toml'",
            "conformance: known_failures mine/gone.toml: No such file or directory",
        ),
    ],
)
def test_what_is_wrong_with_the_arguments_is_one_line(pytester: pytest.Pytester, arguments: str, told: str) -> None:
    embed("mine", "", arguments)
    ran = run(pytester)
    assert outcomes(ran) == {"errors": 1}
    place = next(n for n, line in enumerate(ran.outlines) if "ERROR collecting mine/conftest.py" in line)
    ran.stdout.fnmatch_lines([told])
    assert ran.outlines[place + 1].startswith("conformance: ")


@pytest.mark.parametrize(
    ("preamble", "told"),
    [
        (
            "def loop(): raise OSError('no disk')",
            "loop raised OSError: no disk (conftest.py, line *), when it was called*",
        ),
        ("def loop(): raise SystemExit(2)", "loop raised SystemExit: 2 (conftest.py, line *), when it was called*"),
        ("def loop(model): pass", "loop wants model: what makes an adapter is called without arguments"),
        (HOSTILE, "Hostile raised LookupError: lacks (conftest.py, line *), when it was looked at"),
        ("def loop(): return 7", "loop is no class, no adapter*"),
        ("class loop: pass", "loop has no method invoke(messages)"),
    ],
)
def test_what_gives_no_loop_is_one_line_at_every_item(pytester: pytest.Pytester, preamble: str, told: str) -> None:
    embed("mine", preamble, "loop")
    for isolation in ("fork", "none"):
        ran = run(pytester, "-k", "[hand/answer]", f"--loop-isolation={isolation}")
        assert outcomes(ran) == {"errors": 1}
        ran.stdout.fnmatch_lines([told])


def test_another_process_cannot_be_told_an_object(pytester: pytest.Pytester) -> None:
    embed("mine", FUNCTION, "loop")
    ran = run(pytester, "--loop-isolation=process")
    ran.stdout.fnmatch_lines(["conformance: another process can be told a target's name alone: give loop as text"])


def test_no_other_file_is_looked_into() -> None:
    hook = conformance("reference", here=__file__)
    folder = Path(__file__).parent
    nobody: Any = None
    assert [hook(folder / name, nobody) for name in ("conftest.py", "asking.py")] == [None, None]


# what the document shows


def test_the_conftest_of_the_document_works(pytester: pytest.Pytester) -> None:
    place = pytester.mkdir("mine") / "conftest.py"
    place.write_text(shown("python"), encoding="utf-8")
    assert outcomes(run(pytester, "-k", "hand/transcript")) == {"passed": 1}


def test_the_ini_file_and_the_known_failures_of_the_document_work(pytester: pytest.Pytester) -> None:
    Path("pytest.ini").write_text(shown("ini"), encoding="utf-8")
    Path("known.toml").write_text(shown("toml"), encoding="utf-8")
    source = pytester.mkdir("src")
    for name, example in (("my_loop.py", "broken_loop.py"), ("my_whole_loop.py", "my_loop.py")):
        text = (EXAMPLES / example).read_text(encoding="utf-8").replace("my_loop", "my_whole_loop")
        (source / name).write_text(text, encoding="utf-8")
    ran = run(pytester, "-k", "budget/calls-none-run", "--loop-known-failures=known.toml")
    ran.stdout.fnmatch_lines(["looptck: src/my_loop.py against ag03, seed *, requirements 1"])
    assert outcomes(ran) == {"xfailed": 1}
