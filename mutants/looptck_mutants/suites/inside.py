"""What runs in the child of a run: the loop is served, the suite is collected and run, each result is sent on.

This module knows nothing of mutants: it is given the code of the package, which is the same in kind for every run.
"""

from __future__ import annotations

import importlib.util
import json
import marshal
import os
import random
import sys
import tempfile
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import pytest

from looptck_mutants.suites.assertion import Assertions

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from types import CodeType, ModuleType

_TEXT = 300
"""Characters of an error that are sent."""
REVERSED = -1
_UNDISTRIBUTED = {"numprocesses": 0, "dist": "no", "distload": False, "tx": []}
"""Options of pytest-xdist, under which it leaves the tests to this process."""


class Request(TypedDict):
    """What a run is told; plain data that `marshal` takes.

    `place` is the folder of the run, `suite` that of the copied suite in it and `arguments` what pytest is given.
    `modules` maps names to the path, the folder of a package (or "") and the marshalled code. `select` are the tests to
    run, None for all; `order` is None as collected, `REVERSED`, or the seed of a shuffle.
    """

    place: str
    suite: str
    arguments: list[str]
    environment: dict[str, str]
    path: list[str]
    package: str
    modules: dict[str, tuple[str, str, bytes]]
    select: list[str] | None
    order: int | None


def run_inside(request: Request, write: int) -> None:
    """Run the suite; every result goes to the descriptor as a line of JSON."""

    def send(kind: str, **what: Any) -> None:
        data = memoryview(json.dumps({"kind": kind, **what}).encode() + b"\n")
        while data:
            data = data[os.write(write, data) :]

    _settle(request)
    imported = [name for name in sys.modules if name.partition(".")[0] == request["package"]]
    if imported:
        send("refused", text=f"{request['package']} is imported already: {', '.join(sorted(imported))}")
        return
    sys.meta_path.insert(0, _Finder(request["modules"], send))
    send("started")
    pytest.main(request["arguments"], plugins=[_Inside(request, send)])


def _settle(request: Request) -> None:
    """The folder of the run is the working folder, the home and the place of temporary files."""
    os.chdir(request["suite"])
    home, scratch = (Path(request["place"]) / name for name in ("home", "tmp"))
    for folder in (home, scratch):
        folder.mkdir(exist_ok=True)  # a run that could not be started is started again
    os.environ.update(request["environment"], HOME=str(home), TMPDIR=str(scratch))
    tempfile.tempdir = None
    sys.dont_write_bytecode = True
    sys.argv = ["pytest"]
    sys.path[:0] = [request["suite"], *request["path"]]


class _Finder(MetaPathFinder):
    """Finds the modules of the package, where they are installed, with the code that was given."""

    def __init__(self, modules: Mapping[str, tuple[str, str, bytes]], send: Callable[..., None]) -> None:
        self._modules, self._send = modules, send

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module of the package, None for every other."""
        del path, target
        if fullname not in self._modules:
            return None
        origin, folder, code = self._modules[fullname]
        return importlib.util.spec_from_file_location(
            fullname,
            origin,
            loader=_Loader(fullname, origin, code, self._send),
            submodule_search_locations=[folder] if folder else None,
        )


class _Loader(SourceFileLoader):
    """Executes the given code; whoever asks for the source is shown the file on disk, whatever runs."""

    def __init__(self, fullname: str, path: str, code: bytes, send: Callable[..., None]) -> None:
        super().__init__(fullname, path)
        self._code, self._send = code, send

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - the import protocol
        """The code that was given."""
        code: CodeType = marshal.loads(self._code)  # noqa: S302 - of our own process
        return code

    def exec_module(self, module: ModuleType) -> None:
        """Execute the code, and tell how that went."""
        try:
            super().exec_module(module)
        except BaseException as error:
            self._send("module", name=module.__name__, text=_short(error))
            raise
        self._send("module", name=module.__name__, text="")


class _Inside:
    """The plugin that chooses, orders and reports."""

    def __init__(self, request: Request, send: Callable[..., None]) -> None:
        self._request, self._send = request, send
        self._assertions = Assertions(request["suite"])
        self._errors: list[list[str]] = []
        self._outcome = self._text = ""
        self._leave: Callable[[int], object] = os._exit  # by now: a suite may put another in its place

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Generator[None, object, object]:
        """Whatever the suite's settings say, its tests are run in this process."""
        for name, value in _UNDISTRIBUTED.items():
            if hasattr(config.option, name):
                setattr(config.option, name, value)
        return (yield)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep what could not be collected."""
        if report.failed:
            lines = [line for line in str(report.longrepr).splitlines() if line.strip()]
            told = [line[1:].strip() for line in lines if line.startswith("E ")] or lines[-1:]
            self._errors.append([report.nodeid, "".join(told[:1])[:_TEXT]])

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Choose and order the tests."""
        select, order = self._request["select"], self._request["order"]
        if select is not None:
            wanted = set(select)
            items[:] = [item for item in items if item.nodeid in wanted]
        if order == REVERSED:
            items.reverse()
        elif order is not None:
            random.Random(order).shuffle(items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Tell what is to be run, in this order, and what could not be collected."""
        self._send("collected", tests=[item.nodeid for item in session.items], errors=self._errors)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Behind the last test there is nothing to wait for: no summary, no exit code."""
        done = yield
        self._send("finished")
        self._leave(0)
        return done

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Tell when a test begins, and how it ended."""
        self._outcome = self._text = ""
        self._send("begin", test=item.nodeid)
        done = yield
        self._send("end", test=item.nodeid, outcome=self._outcome or "error", text=self._text)
        return done

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note how a phase of a test ended, or a part of it: the worst is what counts."""
        report = yield
        self._note(self._outcome_of(item, call, report), call)
        return report

    def _note(self, outcome: str, call: pytest.CallInfo[None]) -> None:
        order = ("", "passed", "skipped", "assertion", "error")
        if outcome == "error" and call.when == "call" and self._outcome == "assertion":
            return  # a part of the test has failed as it should
        if order.index(outcome) > order.index(self._outcome):
            self._outcome = outcome
            self._text = "" if call.excinfo is None else _short(call.excinfo.value)

    def _outcome_of(self, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> str:
        if report.passed:
            return "passed" if call.when == "call" else ""
        if report.skipped:
            return "skipped"
        return "assertion" if self._assertions.made(item, call) else "error"


def _short(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}"[:_TEXT] if lines else type(error).__name__
