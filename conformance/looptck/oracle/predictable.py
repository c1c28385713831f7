"""Which scenarios of ag03 can be predicted, and why others cannot: what the specification does not fix. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.canonical import canonical

if TYPE_CHECKING:
    from looptck.scenario import Call, Scenario


def unpredicted(scenario: Scenario) -> str | None:
    """Why a scenario cannot be predicted; None for one that can."""
    if scenario.transport != "direct":
        return "the bytes of a server are not predicted, only what a provider says"
    for name, limit in scenario.options.limits().items():
        if limit < 0:
            return f"options.{name}: what a limit below zero means is not fixed"
    for place in range(len(scenario.invocations)):
        if (why := _unpredicted(scenario, place)) is not None:
            return f"invocations.{place}{why}"
    alike: dict[tuple[str, str, str], Call] = {}
    for call in scenario.calls():
        key = (call.id, call.name, canonical(call.arguments))
        if alike.setdefault(key, call).model_copy(update={"arguments": call.arguments}) != call:
            return f"call {call.id}: it is proposed twice, and what becomes of it is not the same"
    return None


def _unpredicted(scenario: Scenario, place: int) -> str | None:
    """Why an invocation cannot be predicted, behind its name."""
    invocation = scenario.invocations[place]
    if invocation.cancel != "never":
        return ".cancel: where a run is cut off is not fixed"
    if invocation.stop is not None or invocation.runner == "resume":
        return ": a run that is stopped, or resumes from a journal, is for the crash sweep"
    if invocation.alongside:
        return ".alongside: runs at once are not told apart"
    if invocation.runner == "replay" and not _same_input(scenario, place):
        return ".runner: a replay of another input than the one that was recorded"
    return None


def _same_input(scenario: Scenario, place: int) -> bool:
    one, other = scenario.invocations[place - 1], scenario.invocations[place]
    return (one.messages, one.continues, one.approvals) == (other.messages, other.continues, other.approvals)
