"""What the tests of the fuzzer share: loops with one planted bug each, and small scenarios."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from looptck.profile import profile_of
from looptck.scenario import Call, Invocation, Options, Said, Scenario, Turn
from looptck.target import Loader, parse_target

if TYPE_CHECKING:
    from pathlib import Path

AG03 = profile_of("ag03")
_LOOP = """
import looptck_reference
from looptck.contract.ag03 import Message

{before}


class Agent(looptck_reference.Agent):
    def __init__(self, *seams, **options):
{made}
        super().__init__(*seams, **options)

    def invoke(self, messages):
{body}
        return super().invoke(messages)
"""
CAP = "if options.get('max_iter'):\n    options['max_iter'] += 1"
"""A cap allows a model call more."""
NO_SYSTEM = "options['system'] = ''"
"""The system prompt is left out."""
NO_OPTIONS = "options['call_options'] = None"
"""The model is not given the options of its calls."""
LEAKS = """import sys
sys.runs = getattr(sys, 'runs', 0) + 1
if sys.runs > 1:
    messages = [*messages, Message('user', 'once more')]"""
"""From the second run of a process on it adds a message of its own."""


def planted(folder: Path, body: str = "pass", before: str = "", made: str = "pass") -> str:
    """The reference, with something in front of each run, or where it is `made`. What it gives is a target."""
    file = folder / "planted.py"
    file.write_text(_LOOP.format(body=_inside(body), before=before, made=_inside(made)), encoding="utf-8")
    return str(file)


def _inside(lines: str) -> str:
    return "\n".join(f"        {line}" for line in lines.splitlines())


def loader(target: str) -> Loader:
    return Loader(parse_target(target, {"reference": "looptck_reference:Agent"}), "ag03")


def asking(name: str, *turns: Turn, **options: Any) -> Scenario:
    invocation = Invocation(messages=(Said(content="go"),), turns=turns or (Turn(text=("Yes.",)),))
    return Scenario(name=name, options=Options(**options), invocations=(invocation,))


PLAIN = asking("plain")
CALL = Call(id="call_1", name="look_up")
ODD = asking("odd", Turn(calls=(CALL,)), Turn(text=("Yes.",)), max_parallel_tools=1)
"""In which the loops of `tests/conformance/targets` misbehave."""
