"""From requests to the verdict: every check on every invocation of the scenario. Pure."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from looptck.report.model import Verdict, worst
from looptck.serve.checks import RULES
from looptck.serve.conversation import Conversation
from looptck.serve.report import RequestFinding, ServeReport
from looptck.serve.rules import Rule, Unjudged

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from looptck.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Ended:
    """How serving ended. `finished`: the client did so by itself and calls it a success."""

    text: str
    finished: bool = False
    command_exit: int | None = None


def conversations(scenario: Scenario, requests: Sequence[Sequence[bytes]]) -> list[Conversation]:
    """The conversation of each invocation, of the bodies of the requests that were made for it."""
    found: list[Conversation] = []
    for place, (invocation, asked) in enumerate(zip(scenario.invocations, requests, strict=True)):
        earlier = None if invocation.continues is None else found[invocation.continues]
        found.append(Conversation(scenario, place, asked, earlier))
    return found


def judge(
    scenario: Scenario, requests: Sequence[Sequence[bytes]], ended: Ended, *, own_input: bool = False
) -> ServeReport:
    """The report on the client that made these requests, by invocation. With `own_input` its input is its own."""
    talks = conversations(scenario, requests)
    results = {rule: _rule(rule, talks, ended, own_input=own_input) for rule in RULES}
    deciding = [
        result.verdict
        for rule, result in results.items()
        if result.verdict not in {"skip", "pass"} and (rule.level == "must" or result.verdict == "fault")
    ]
    asked = sum(map(len, requests))
    return ServeReport(
        scenario=scenario.name,
        verdict=worst([*deciding, "pass"] if asked else [*deciding, "incomplete"]),
        requests=asked,
        ended=ended.text,
        command_exit=ended.command_exit,
        notes=list(_notes(talks)) if asked else ["nothing was asked"],
        findings=[_finding(rule, result) for rule, result in results.items() if result.verdict not in {"pass", "skip"}],
        passed=[rule.id for rule, result in results.items() if result.verdict == "pass"],
        skipped={rule.id: result.message for rule, result in results.items() if result.verdict == "skip"},
    )


@dataclass(frozen=True, slots=True)
class _Result:
    """What a check says of one invocation."""

    verdict: Verdict
    invocation: int
    message: str = ""
    expected: Any = None
    seen: Any = None


def _rule(rule: Rule, talks: Sequence[Conversation], ended: Ended, *, own_input: bool) -> _Result:
    """A check is as bad as its worst invocation."""
    if own_input and rule.about_input:
        return _Result("skip", 1, "the client asks a question of its own")
    results = [_evaluate(rule, talk, ended) for talk in talks]
    verdict = worst([result.verdict for result in results])
    return next(result for result in results if result.verdict == verdict)


def _evaluate(rule: Rule, talk: Conversation, ended: Ended) -> _Result:
    number = talk.place + 1
    try:
        found = rule.function(talk)
    except Exception:  # noqa: BLE001 - a check that raises is the kit's bug, never the client's
        return _Result("fault", number, traceback.format_exc())
    if isinstance(found, Unjudged):
        return _Result("skip", number, found.reason)
    verdict: Verdict = "pass" if found.ok else "fail"
    message = ""
    if rule.needs_end and not found.ok and not (ended.finished and talk.calls):
        verdict, message = (
            "incomplete",
            "whether the loop was done cannot be told: " + (ended.text if talk.calls else "nothing was asked"),
        )
    return _Result(verdict, number, message, found.expected, found.seen)


def _finding(rule: Rule, result: _Result) -> RequestFinding:
    return RequestFinding(
        id=rule.id,
        verdict=result.verdict,
        level=rule.level,
        requirement=rule.requirement,
        section=rule.record.section,
        statement=rule.statement,
        invocation=result.invocation,
        message=result.message,
        expected=result.expected,
        seen=result.seen,
    )


def _notes(talks: Sequence[Conversation]) -> Iterator[str]:
    """What helps to understand the verdict."""
    for talk in talks:
        place = f" of invocation {talk.place + 1}" if len(talks) > 1 else ""
        for call in talk.calls:
            for again, _ in call.attempts[1:]:
                yield f"request {again.number}{place} repeats a failed one: it counts as a retry of the HTTP client"
        if any(exchange.asked is not None and exchange.turn is None for exchange in talk.exchanges):
            yield f"more was asked{place} than the script has replies for"
        silent = [c for c in talk.calls if c.asked.stream and not _wants_usage(c.asked.body)]
        if silent and talk.scenario.options.max_tokens is not None:
            yield f"no usage was streamed{place}: the requests do not ask for it with stream_options.include_usage"


def _wants_usage(body: dict[str, Any]) -> bool:
    wanted = body.get("stream_options")
    return isinstance(wanted, dict) and wanted.get("include_usage") is True
