"""Targets: what the user may write, what is made of it, and the one line that says why it cannot be used."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import pytest

from looptck import isolate
from looptck.adapter import Adapter, ContractAdapter, NoInterfaceError
from looptck.describe import Description, describe
from looptck.observe import quiescence
from looptck.observe.quiescence import strangers, threads_now
from looptck.target import DEFAULT_NAME, FILE_MODULE, BrokenTargetError, Target, UnknownTargetError, parse_target

TARGETS = Path(__file__).parent / "targets"
KNOWN = {"reference": "looptck_reference:Agent"}
LOOP = "class Agent:\n    __version__ = '2.5'\n\n    def invoke(self, messages): ...\n"
SOON = 0.2


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Loading a target changes the path and the modules of this process, which is a child otherwise."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    yield
    sys.modules.pop(FILE_MODULE, None)


def written(name: str, text: str) -> Path:
    """A file in the current folder."""
    file = Path(name)
    file.write_text(text, encoding="utf-8")
    return file


def loaded(text: str) -> Adapter:
    adapter: Adapter = parse_target(text, KNOWN).load()
    return adapter


def refused(name: str) -> str:
    """Why a file of the folder of bad targets cannot be loaded, its place left out."""
    with pytest.raises((BrokenTargetError, NoInterfaceError)) as caught:
        loaded(str(TARGETS / f"{name}.py"))
    return str(caught.value).replace(f"{TARGETS}{os.sep}", "")


# what may be written


def test_a_name_that_is_known_is_the_module_behind_it() -> None:
    assert parse_target("reference", KNOWN) == Target("reference", "looptck_reference", "Agent")


@pytest.mark.parametrize(("text", "name"), [("loop.py", DEFAULT_NAME), ("loop.py:Mine", "Mine"), ("loop.py:", "Agent")])
def test_a_file_may_name_its_loop(text: str, name: str) -> None:
    file = written("loop.py", LOOP)
    assert parse_target(text, KNOWN) == Target(text, FILE_MODULE, name, file.resolve())


def test_a_path_may_hold_a_colon() -> None:
    Path("a:b").mkdir()
    file = written("a:b/loop.py", LOOP)
    assert parse_target("a:b/loop.py", KNOWN).file == file.resolve()
    assert parse_target("a:b/loop.py:Mine", KNOWN) == Target("a:b/loop.py:Mine", FILE_MODULE, "Mine", file.resolve())


def test_a_module_names_its_loop() -> None:
    assert parse_target("package.module:Outer.Inner", KNOWN) == Target(
        "package.module:Outer.Inner", "package.module", "Outer.Inner"
    )


def test_nothing_is_imported_before_it_is_loaded() -> None:
    target = parse_target(str(TARGETS / "exits_at_import.py"), KNOWN)
    assert target.file is not None
    assert FILE_MODULE not in sys.modules


@pytest.mark.parametrize("text", ["absent.py", "absent.py:Mine", "folder.py"])
def test_a_file_that_is_not_there_is_unknown(text: str) -> None:
    Path("folder.py").mkdir()
    with pytest.raises(UnknownTargetError, match=r"^there is no file (absent|folder)\.py$"):
        parse_target(text, KNOWN)


@pytest.mark.parametrize(
    "text", ["nonsense", "", ":", ":Agent", "package.module", "my-loop:Agent", "loop.txt", "a..b:C"]
)
def test_what_is_no_target_is_answered_with_what_would_be_one(text: str) -> None:
    with pytest.raises(UnknownTargetError) as caught:
        parse_target(text, KNOWN)
    assert str(caught.value) == (
        f"{text!r} is no target: give a file (loop.py or loop.py:Name), package.module:Name, adapter:NAME, "
        "or one of: reference"
    )


# loading


def test_a_class_of_the_contract_needs_no_adapter() -> None:
    written("loop.py", LOOP)
    adapter = loaded("loop.py")
    assert isinstance(adapter, ContractAdapter)
    assert (adapter.name, adapter.version, adapter.lacks) == ("Agent", "2.5", {})


def test_a_file_may_import_what_lies_beside_it() -> None:
    Path("project").mkdir()
    written("project/helper_beside_the_loop.py", LOOP)
    written("project/loop.py", "from helper_beside_the_loop import Agent\n")
    assert loaded("project/loop.py").version == "2.5"
    assert sys.modules.pop("helper_beside_the_loop").__file__ == str(
        Path("project/helper_beside_the_loop.py").resolve()
    )


def test_a_module_is_found_from_the_current_folder() -> None:
    written("module_in_the_current_folder.py", f"class Outer:\n    {LOOP.replace(chr(10), chr(10) + '    ')}")
    assert loaded("module_in_the_current_folder:Outer.Agent").name == "Outer.Agent"
    del sys.modules["module_in_the_current_folder"]


def test_ctrl_c_during_an_import_is_left_to_whoever_pressed_it() -> None:
    written("loop.py", "raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        loaded("loop.py")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (
            "does_not_import",
            (
                "does_not_import.py cannot be imported: "
                "ModuleNotFoundError: No module named 'a_module_that_nobody_has' (line 5)"
            ),
        ),
        ("raises_at_import", "raises_at_import.py cannot be imported: KeyError: 'MODEL_API_KEY' (line 5)"),
        (
            "exits_at_import",
            "exits_at_import.py cannot be imported: SystemExit: usage: exits_at_import QUESTION (line 7)",
        ),
        ("no_agent", "no_agent.py has no Agent; name one with no_agent.py:Name"),
        ("no_class", "no_class.py:Agent is no class, no adapter (it has no lacks and no run) and no function"),
        ("no_invoke", "Agent has no method invoke(messages); it has run: --profile lesson4?"),
    ],
)
def test_a_target_that_cannot_be_used_says_why_in_one_line(name: str, line: str) -> None:
    assert refused(name) == line


@pytest.mark.parametrize("place", ["loop.py", "./loop.py", "../{here}/loop.py"])
def test_the_line_that_failed_is_named_however_the_file_is(place: str) -> None:
    written("loop.py", "\n\nraise LookupError('first\\nsecond')\n")
    text = place.format(here=Path.cwd().name)
    with pytest.raises(BrokenTargetError, match=r": LookupError: first second \(line 3\)$"):
        loaded(text)


def test_an_error_without_a_text_is_named_alone() -> None:
    written("loop.py", "assert False\n")
    with pytest.raises(BrokenTargetError, match=r"imported: AssertionError \(line 1\)$"):
        loaded("loop.py")


def test_a_syntax_error_is_told_with_its_line() -> None:
    written("loop.py", "class Agent:\n    def invoke(self, messages:\n")
    with pytest.raises(BrokenTargetError) as caught:
        loaded("loop.py")
    assert str(caught.value) == "loop.py cannot be imported: SyntaxError: '(' was never closed (line 2)"


def test_a_syntax_error_beside_the_target_is_told_with_its_file() -> None:
    written("helper_that_does_not_parse.py", "\nreturn return\n")
    written("loop.py", "import helper_that_does_not_parse\n")
    with pytest.raises(BrokenTargetError, match=r"\(helper_that_does_not_parse\.py, line 2\)$"):
        loaded("loop.py")


def test_a_file_that_is_no_text_is_told_in_one_line() -> None:
    Path("loop.py").write_bytes(b"\0\xff\n")
    with pytest.raises(BrokenTargetError, match=r"^loop\.py cannot be imported: [^\n]+$"):
        loaded("loop.py")


def test_a_module_that_is_not_there_is_told_in_one_line() -> None:
    with pytest.raises(BrokenTargetError) as caught:
        loaded("a_module_that_nobody_has:Agent")
    assert str(caught.value) == (
        "a_module_that_nobody_has:Agent cannot be imported: "
        "ModuleNotFoundError: No module named 'a_module_that_nobody_has'"
    )


# describing, in a child


def described(name: str, **options: Any) -> Description:
    return describe(parse_target(str(TARGETS / f"{name}.py"), KNOWN).load, **options)


def test_a_target_is_described_without_being_imported_here() -> None:
    written("loop.py", LOOP)
    assert describe(parse_target("loop.py", KNOWN).load) == Description("Agent", "2.5", {})
    assert FILE_MODULE not in sys.modules


def test_a_target_is_described_here_where_that_is_asked_for() -> None:
    written("loop.py", LOOP)
    assert describe(parse_target("loop.py", KNOWN).load, isolated=False) == Description("Agent", "2.5", {})
    assert FILE_MODULE in sys.modules


@pytest.mark.parametrize("isolated", [True, False])
def test_what_an_adapter_lacks_is_described_with_its_reasons(isolated: bool) -> None:  # noqa: FBT001
    class Partial(ContractAdapter):
        lacks: Mapping[str, str] = {"gate": "it has no policy", "tracer": "it logs"}

    def load() -> Adapter:
        return Partial(type("Loop", (), {"invoke": lambda _self, _messages: None}))

    assert describe(load, isolated=isolated) == Description("Loop", "", dict(Partial.lacks))


def test_a_target_that_cannot_be_used_is_refused_with_its_own_line() -> None:
    assert described("raises_at_import").refused.endswith("KeyError: 'MODEL_API_KEY' (line 5)")
    assert described("no_invoke").refused.startswith("Agent has no method invoke(messages)")


def test_a_target_that_leaves_the_process_is_refused() -> None:
    assert described("os_exits_at_import").refused == "importing the target ended the process with exit code 0"


def test_a_target_whose_import_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolate, "GRACE", SOON)
    assert described("import_hangs", limit=SOON).refused == "importing the target took longer than 0.4 s"


def test_a_target_may_print_more_than_a_pipe_holds_while_it_is_imported() -> None:
    assert described("prints_at_import").refused == ""


def test_a_thread_that_the_import_starts_is_the_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quiescence, "_strangers", None)  # as in a child, which has loaded nothing yet
    start = "over = threading.Event()\nthread = threading.Thread(target=over.wait)\nthread.start()"
    written("loop.py", f"import threading\n{start}\n{LOOP}")
    loaded("loop.py")
    module: Any = sys.modules[FILE_MODULE]
    try:
        assert str(module.thread.native_id) in threads_now() - strangers()
    finally:
        module.over.set()
        module.thread.join()


@pytest.mark.parametrize(
    ("work", "isolation"),
    [
        ("os.fork() or time.sleep(3600)", "fork"),
        ("threading.Thread(target=time.sleep, args=[3600]).start()", "process"),
        ("(thread := threading.Thread(target=int)).start(); thread.join()", "fork"),
    ],
)
def test_a_target_whose_import_starts_what_stays_is_described_at_once(
    work: str, isolation: Literal["fork", "process"], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolate, "GRACE", 30.0)
    written("loop.py", f"import os, threading, time\n{work}\n{LOOP}")
    stays: Callable[[], Adapter] = parse_target("loop.py", KNOWN).load
    assert describe(stays) == Description("Agent", "2.5", {}, isolation=isolation)


@pytest.mark.parametrize(("seconds", "isolation"), [(0.01, "process"), (30.0, "fork")])
def test_an_import_that_takes_long_is_for_few_processes(
    seconds: float, isolation: Literal["fork", "process"], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("looptck.describe.SLOW_IMPORT", seconds)
    written("loop.py", f"import time\nwhile time.process_time() < 0.02: ...\n{LOOP}")
    assert describe(parse_target("loop.py", KNOWN).load) == Description("Agent", "2.5", {}, isolation=isolation)


def test_a_file_is_found_from_wherever_its_loader_is(monkeypatch: pytest.MonkeyPatch) -> None:
    written("loop.py", LOOP)
    target = parse_target("loop.py", KNOWN)
    monkeypatch.chdir("/")
    assert target.load().name == "Agent"
