"""Adapters on the command line, by file, module and entry point, and the isolation that suits a target."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.commands import bad

from looptck.adapters import Known, known_adapters
from looptck.target import FILE_MODULE, Target, UnknownTargetError, parse_target

ADAPTER = """
from looptck.adapter import Outcome, Run
from looptck.contract.ag03 import Accumulator, Message


class Chat:
    name, version = "chat", "1"
    lacks = {"max_iter": "there is no limit", "gate": "every call runs"}

    async def run(self, run: Run) -> Outcome:
        outcome = Outcome(transcript=list(run.messages))
        tools = run.options["tools"]
        while True:
            reply = Accumulator()
            async for chunk in run.options["provider"].stream(outcome.transcript, tools.definitions(), {}):
                reply.add(chunk)
            outcome.transcript.append(reply.message())
            if not reply.message().tool_calls:
                outcome.message = reply.message()
                return outcome
            for call in reply.message().tool_calls:
                result = await tools.call(call)
                outcome.transcript.append(Message("tool", result.content, tool_call_id=call.id))


class Alone(Chat):
    isolation = "process"


class Raises(Chat):
    async def run(self, run):
        raise LookupError("no model of that name")


def make():
    return Chat()


adapter = Chat()
"""
CHECKS = ("-k", "hand/answer", "--seed", "4")
NOBODY = "a_package_that_nobody_has"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with an adapter in it, and a distribution that has entry points."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / "my_adapter.py").write_text(ADAPTER, encoding="utf-8")
    (tmp_path / "needs_more.py").write_text(f"import {NOBODY}\n", encoding="utf-8")
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    about = "Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\nProvides-Extra: needy\n"
    (info / "METADATA").write_text(about, encoding="utf-8")
    points = "their-chat = my_adapter:adapter\nneedy = needs_more:adapter\npoor = needs_more:adapter\n"
    (info / "entry_points.txt").write_text(f"[looptck.adapters]\n{points}", encoding="utf-8")
    yield tmp_path
    sys.modules.pop(FILE_MODULE, None)


def written(looptck: Any, *arguments: str) -> dict[str, Any]:
    """The report of a check as JSON."""
    ran = looptck("check", *arguments, *CHECKS, "--json", "report.json")
    assert (ran.code, ran.err) == (0, "")
    report: dict[str, Any] = json.loads(Path("report.json").read_text(encoding="utf-8"))
    return report


@pytest.mark.parametrize(
    "target",
    ["my_adapter.py:Chat", "my_adapter.py:adapter", "my_adapter.py:make", "my_adapter:adapter", "adapter:their-chat"],
)
def test_an_adapter_is_checked_however_it_is_named(looptck: Any, target: str) -> None:
    assert written(looptck, target)["target"] == target


def test_what_an_adapter_lacks_is_skipped(looptck: Any) -> None:
    ran = looptck("check", "my_adapter.py:Chat", "-k", "max-iter/error")
    assert (ran.code, ran.last) == (2, "INCOMPLETE my_adapter.py:Chat against ag03: 1 skip")


def test_an_adapter_that_raises_is_not_the_kits_fault(looptck: Any) -> None:
    ran = looptck("check", "my_adapter.py:Raises", *CHECKS)
    assert (ran.code, ran.err) == (2, "")
    assert "the adapter chat raised LookupError: no model of that name (my_adapter.py, line " in ran.out


# entry points


def test_adapters_are_known_by_their_entry_points() -> None:
    known = known_adapters()
    assert known["their-chat"] == Known("my_adapter", "adapter", "")
    assert known["needy"].hint == "pip install 'theirs[needy]'"
    assert known["pydantic-ai"].hint == "pip install 'looptck[pydantic-ai]'"


def test_an_adapter_by_name_is_not_imported_before_it_is_loaded() -> None:
    assert parse_target("adapter:poor", {}) == Target("adapter:poor", "needs_more", "adapter")
    assert "needs_more" not in sys.modules


def test_a_name_that_nobody_has_is_answered_with_those_that_there_are(looptck: Any) -> None:
    with pytest.raises(UnknownTargetError) as caught:
        parse_target("adapter:other", {})
    assert str(caught.value) == ("there is no adapter 'other'; installed are: needy, poor, pydantic-ai, their-chat")
    assert looptck("check", "adapter:other").code == 4


@pytest.mark.parametrize(("name", "hint"), [("needy", ": pip install 'theirs[needy]'"), ("poor", "")])
def test_an_adapter_that_lacks_a_package_says_what_to_install(looptck: Any, name: str, hint: str) -> None:
    ran = looptck("check", f"adapter:{name}", *CHECKS)
    why = f"ModuleNotFoundError: No module named '{NOBODY}'"
    assert (ran.code, ran.err) == (2, f"looptck: adapter:{name} cannot be imported: {why}{hint}\n")


# the isolation that suits


@pytest.mark.parametrize(
    ("target", "options", "used"),
    [
        ("my_adapter.py:Chat", (), "fork"),
        ("my_adapter.py:Alone", (), "process"),
        ("my_adapter.py:Alone", ("--isolation", "fork"), "fork"),
        ("my_adapter.py:Chat", ("--isolation", "process"), "process"),
        (bad("import_starts_threads"), (), "process"),
        (bad("import_starts_threads"), ("--isolation", "fork"), "fork"),
    ],
)
def test_a_process_of_its_own_is_for_who_asks_or_starts_threads(
    looptck: Any, target: str, options: tuple[str, ...], used: str
) -> None:
    report = written(looptck, target, *options)
    asked = options[1] if options else "auto"
    assert (report["isolation"], report["isolation_asked"], report["verdict"]) == (used, asked, "pass")


@pytest.mark.parametrize(
    ("options", "repeated"),
    [((), ""), (("--isolation", "fork"), " --isolation fork"), (("--isolation", "process"), " --isolation process")],
)
def test_the_line_that_repeats_a_check_repeats_the_isolation_that_was_asked_for(
    looptck: Any, options: tuple[str, ...], repeated: str
) -> None:
    ran = looptck("check", "my_adapter.py:Chat", "-k", "hand/usage", "--seed", "4", *options)
    again = f"looptck check my_adapter.py:Chat --profile ag03 -k hand/usage --seed 4{repeated}"
    assert (ran.code, f"  again: {again}\n" in ran.out) == (1, True)
