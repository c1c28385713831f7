"""Single predictions of ag03, written out by hand from the specification: no loop has a part in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.oracle.predicting import every

from looptck.contract.ag03 import Usage
from looptck.oracle.difference import shown
from looptck.oracle.predictable import unpredicted
from looptck.scenario import Call, Invocation, Options, Said, Scenario, Tokens, Turn

if TYPE_CHECKING:
    from looptck.oracle.predicted import Predicted

# section 3, the worked example

PARIS = Call(id="call_1", name="get_weather", arguments='{"city":"Paris"}', answer="sunny, 21 C")
HAND = Scenario(
    name="hand",
    invocations=(
        Invocation(
            messages=(Said(content="What is the weather in Paris?"),),
            turns=(
                Turn(calls=(PARIS,), usage=Tokens(input=10, output=5)),
                Turn(text=("It ", "is ", "sunny."), usage=Tokens(input=20, output=4)),
            ),
            runner="record",
        ),
    ),
)


def test_the_worked_example_is_predicted_as_the_specification_tells_it() -> None:
    (run,) = every(HAND)
    assert (run.ending, run.model_calls, run.usages) == ("answered", 2, (Usage(30, 9),))
    assert run.answer is not None
    assert run.answer.content == "It is sunny."
    (transcript,) = run.transcripts
    assert [(line.message.role, line.message.content) for line in transcript] == [
        ("user", "What is the weather in Paris?"),
        ("assistant", ""),
        ("tool", "sunny, 21 C"),
        ("assistant", "It is sunny."),
    ]
    assert [call.id for call in transcript[1].message.tool_calls] == ["call_1"]
    assert transcript[2].message.tool_call_id == "call_1"
    first, second = run.rounds
    assert (first.number, second.number) == (1, 2)
    assert [item.call for item in first.running()] == [PARIS]
    assert first.ask is not None
    assert second.ask is not None
    assert shown(first.ask.messages) == shown(transcript[:1])
    assert shown(second.ask.messages) == shown(transcript[:3])
    assert list(run.journal) == ["llm/1", "tool/1/0/get_weather", "llm/2"]


# many runs, each in a line: how many replies, what runs in which iteration, how it ends


def told(run: Predicted) -> str:
    """For example `2 replies, 1: a b, answered`: replies, the calls that run by iteration, the end."""
    ran = [f"{one.number}: {' '.join(item.call.id for item in one.running())}" for one in run.rounds if one.running()]
    return ", ".join([f"{run.model_calls} replies", *ran, run.ending])


def call(call_id: str, **more: Any) -> Call:
    return Call(id=call_id, name="look_up", **more)


A, B = call("a"), call("b")
USER = (Said(content="go"),)


def turn(*calls: Call, tokens: int = 10, **more: Any) -> Turn:
    return Turn(calls=calls, text=() if calls else ("Done.",), usage=Tokens(input=tokens), **more)


def run_of(*turns: Turn, gate: bool = False, more: dict[str, Any] | None = None, **options: Any) -> Scenario:
    invocation = Invocation(**{"messages": USER, "turns": turns, **(more or {})})
    return Scenario(name="by hand", gate=gate, options=Options(**options), invocations=(invocation,))


DENIED = call("b", verdict="deny", reason="no")
CUT = call("cut", arguments='{"q":')
WAITS = call("b", verdict="need_approval", marker="ok-b", reason="costly")
REFUSED = {"runner": "refuse"}
ANSWERED = (*USER, Said(role="assistant", calls=(A,)), Said(role="tool", content="ok", tool_call_id="a"))
BY_HAND: dict[str, tuple[Scenario, set[str]]] = {
    "answer at once": (run_of(turn()), {"1 replies, answered"}),
    "nothing to say": (run_of(), {"0 replies, provider"}),
    "two calls": (run_of(turn(A, B), turn()), {"2 replies, 1: a b, answered"}),
    # the cap: so many model calls, and eight where none is given
    "cap": (run_of(turn(A), turn(B), turn(), max_iter=2), {"2 replies, 1: a, 2: b, max_iter"}),
    "cap met by the answer": (run_of(turn(A), turn(), max_iter=2), {"2 replies, 1: a, answered"}),
    "cap of one": (run_of(turn(A), turn(), max_iter=1), {"1 replies, 1: a, max_iter"}),
    "cap of zero": (run_of(turn(), max_iter=0), {"0 replies, max_iter", "1 replies, answered"}),
    "default cap": (
        run_of(*[turn(call(f"c{n}")) for n in range(1, 10)]),
        {"8 replies, " + ", ".join(f"{n}: c{n}" for n in range(1, 9)) + ", max_iter"},
    ),
    # tokens: past the budget nothing is dispatched; at it the calls run, and asking again is open
    "tokens under": (run_of(turn(A), turn(), max_tokens=21), {"2 replies, 1: a, answered"}),
    "tokens met by the answer": (run_of(turn(A), turn(), max_tokens=20), {"2 replies, 1: a, answered"}),
    "tokens passed by the answer": (
        run_of(turn(A), turn(), max_tokens=19),
        {"2 replies, 1: a, answered", "2 replies, 1: a, tokens"},
    ),
    "tokens met": (
        run_of(turn(A), turn(tokens=0), max_tokens=10),
        {"1 replies, 1: a, tokens", "2 replies, 1: a, answered"},
    ),
    "tokens passed": (run_of(turn(A), turn(), max_tokens=9), {"1 replies, tokens"}),
    "tokens summed": (run_of(turn(A), turn(B), turn(), max_tokens=19), {"2 replies, 1: a, tokens"}),
    # tool calls: a turn that would pass the budget runs none of its calls
    "calls met": (run_of(turn(A, B), turn(), max_tool_calls=2), {"2 replies, 1: a b, answered"}),
    "calls passed": (run_of(turn(A, B), turn(), max_tool_calls=1), {"1 replies, tool_calls"}),
    "calls summed": (run_of(turn(A), turn(B), turn(), max_tool_calls=1), {"2 replies, 1: a, tool_calls"}),
    "both passed": (run_of(turn(A), max_tokens=9, max_tool_calls=0), {"1 replies, tokens", "1 replies, tool_calls"}),
    "denied in the budget": (
        run_of(turn(A, DENIED), turn(), gate=True, max_tool_calls=1),
        {"1 replies, tool_calls", "2 replies, 1: a, answered"},
    ),
    "room for denied calls that use up none": (
        run_of(*[turn(A, DENIED)] * 3, turn(), gate=True, max_tool_calls=3),
        {"2 replies, 1: a, tool_calls", "3 replies, 1: a, 2: a, tool_calls", "4 replies, 1: a, 2: a, 3: a, answered"},
    ),
    # the gate
    "denied": (run_of(turn(A, DENIED), turn(), gate=True), {"2 replies, 1: a, answered"}),
    "waits": (run_of(turn(A, WAITS), turn(), gate=True), {"1 replies, approval"}),
    "approved before": (
        run_of(turn(A, WAITS), turn(), gate=True, more={"approvals": ("ok-b",)}),
        {"2 replies, 1: a b, answered", "1 replies, approval"},
    ),
    "approved by another marker": (
        run_of(turn(WAITS), turn(), gate=True, more={"approvals": ("ok-", "b", "OK-B")}),
        {"1 replies, approval"},
    ),
    "no gate": (run_of(turn(A, WAITS), turn()), {"2 replies, 1: a b, answered"}),
    # steps: one that is refused ends the run, and its siblings are not waited for
    "model step refused": (
        run_of(turn(A), turn(), more=REFUSED | {"refuse": ("llm/2",)}),
        {"1 replies, 1: a, step"},
    ),
    "tool step refused": (
        run_of(turn(A, B), turn(), more=REFUSED | {"refuse": ("tool/1/1/look_up",)}),
        {"1 replies, 1: a, step"},
    ),
    "other step refused": (
        run_of(turn(A), turn(), more=REFUSED | {"refuse": ("tool/1/1/look_up",)}),
        {"2 replies, 1: a, answered"},
    ),
    # tools and models that fail
    "tool fails": (run_of(turn(call("a", is_error=True)), turn()), {"2 replies, 1: a, answered"}),
    "model fails": (run_of(turn(A), turn(error="down")), {"1 replies, 1: a, provider"}),
    # arguments that are no JSON object: the tools are given them, or the loop answers the call and may not count it
    "no JSON": (run_of(turn(CUT, B), turn()), {"2 replies, 1: cut b, answered", "2 replies, 1: b, answered"}),
    "no JSON in the budget": (
        run_of(turn(CUT, B), turn(), max_tool_calls=1),
        {"1 replies, tool_calls", "2 replies, 1: b, answered"},
    ),
    "no JSON, no text, no object": (
        run_of(turn(CUT, call("none", arguments=" "), call("null", arguments="null")), turn()),
        {
            "2 replies, answered",
            *(
                f"2 replies, 1: {ran}, answered"
                for ran in ("cut none null", "cut none", "cut null", "none null", "cut", "none", "null")
            ),
        },
    ),
    "no JSON beside one that waits": (run_of(turn(CUT, WAITS), turn(), gate=True), {"1 replies, approval"}),
    # an open turn of the input is dispatched first, as iteration 1 or 0; the model call behind it is that or the next
    "resumed": (
        run_of(turn(B), turn(), more={"messages": (*USER, Said(role="assistant", calls=(A,)))}),
        {f"2 replies, {turn}: a, {turn + more}: b, answered" for turn in (0, 1) for more in (0, 1)},
    ),
    "answered before": (
        run_of(turn(B), turn(), more={"messages": ANSWERED}),
        {"2 replies, 1: b, answered", "2 replies, 2: b, answered"},
    ),
}


@pytest.mark.parametrize(("scenario", "expected"), BY_HAND.values(), ids=BY_HAND)
def test_a_run_is_predicted_as_by_hand(scenario: Scenario, expected: set[str]) -> None:
    assert unpredicted(scenario) is None
    assert {told(run) for run in every(scenario)} == expected


# what is left


def left(scenario: Scenario, place: int = 0) -> set[tuple[str, ...]]:
    """The transcripts that a run may leave, as lines."""
    return {tuple(shown(lines)) for run in every(scenario, place) for lines in run.transcripts}


USER_LINE, REPLY, ANSWER = 'user: "go"', 'assistant: "" + a = look_up({})', 'assistant: "Done."'


def test_a_system_prompt_comes_first_unless_the_input_has_one() -> None:
    led = {"messages": (Said(role="system", content="Mine."), *USER)}
    assert left(run_of(turn(), system="Yours.")) == {('system: "Yours."', USER_LINE, ANSWER)}
    assert left(run_of(turn(), system="Yours.", more=led)) == {('system: "Mine."', USER_LINE, ANSWER)}
    assert left(run_of(turn(), system="")) == {(USER_LINE, ANSWER)}


def test_a_denied_call_is_answered_by_the_fixed_text_in_its_place() -> None:
    (transcript,) = left(run_of(turn(DENIED, A), turn(), gate=True))
    assert transcript[2:4] == ('tool(b): "error: denied by policy: no"', 'tool(a): "ok"')


def test_a_denied_call_is_answered_by_that_text_whatever_its_arguments_are() -> None:
    denied = DENIED.model_copy(update={"arguments": CUT.arguments})
    assert {transcript[2] for transcript in left(run_of(turn(denied), turn(), gate=True))} == {
        'tool(b): "error: denied by policy: no"'
    }


def test_where_a_limit_refuses_a_turn_that_turn_is_kept_or_not() -> None:
    assert left(run_of(turn(A), max_tokens=9)) == {(USER_LINE,), (USER_LINE, REPLY)}
    assert left(run_of(turn(A), max_tool_calls=0, max_tokens=100)) >= {(USER_LINE,), (USER_LINE, REPLY)}


def test_a_turn_that_waits_is_what_the_transcript_ends_with() -> None:
    scenario = run_of(turn(A, WAITS), gate=True)
    (transcript,) = left(scenario)
    assert len(transcript) == 2
    for run in every(scenario):
        assert run.pending == (WAITS,)
        assert [item.fate for item in run.rounds[0].planned] == ["held back", "waits"]


def test_a_budget_error_tells_what_was_spent_and_the_ceiling() -> None:
    tokens = every(run_of(turn(A), turn(B), max_tokens=19))
    assert {(run.limit, run.used) for run in tokens} == {(19, (20,))}
    calls = every(run_of(turn(A), turn(A, B), max_tool_calls=2))
    assert {(run.limit, run.used) for run in calls} == {(2, (3, 1))}, "attempted, or done"


def test_a_call_without_fit_arguments_may_count_only_where_the_gate_denies_it() -> None:
    denied = DENIED.model_copy(update={"id": "d", "arguments": CUT.arguments})
    runs = every(run_of(turn(A, CUT, DENIED, denied), turn(), gate=True, max_tool_calls=2))
    stopped = [run for run in runs if run.ending == "tool_calls"]
    assert {run.used for run in stopped} == {(4, 0), (3, 0)}, "all four, or all but the one that is allowed"
    assert {run.rounds[0].asked for run in stopped if run.used == (3, 0)} == {"all"}, "the gate tells which they are"
    passed = every(run_of(turn(A, CUT, DENIED, denied, tokens=30), gate=True, max_tool_calls=9, max_tokens=9))
    assert {(run.ending, run.rounds[0].asked) for run in passed} == {("tokens", "none"), ("tokens", "all")}


def partly(*calls: Call, limit: int, gate: bool = False) -> set[tuple[str, tuple[int, ...]]]:
    """How runs end that dispatch the rest of a turn whose first call is answered, and `used` of those that may not."""
    given = (*USER, Said(role="assistant", calls=calls), Said(role="tool", content="ok", tool_call_id=calls[0].id))
    runs = every(run_of(turn(call("x")), turn(), gate=gate, max_tool_calls=limit, more={"messages": given}))
    return {(run.ending, run.used) for run in runs if run.rounds and run.rounds[0].ask is None}


def test_the_answered_calls_of_an_open_turn_may_count() -> None:
    assert partly(A, B, limit=1) == {("tool_calls", (2, 1))}, "before the turn where both count, else behind it"
    assert partly(A, B, limit=2) == {("answered", ()), ("tool_calls", (3, 2))}
    assert partly(A, B, limit=3) == {("answered", ())}
    assert partly(CUT, B, limit=2) == {("answered", ()), ("tool_calls", (3, 2))}
    assert partly(DENIED, A, limit=2, gate=True) == {("answered", ()), ("tool_calls", (3, 2))}


def test_usage_is_summed_also_where_a_run_fails_and_the_last_report_of_a_reply_counts() -> None:
    assert [run.usages for run in every(run_of(turn(A, tokens=7), max_iter=1))] == [(Usage(7, 0),)]
    twice = turn(early_usage=Tokens(input=1, output=1), tokens=7)
    assert [run.usages for run in every(run_of(twice))] == [(Usage(7, 0),)]
    (failed,) = every(run_of(turn(A, tokens=7), turn(tokens=5, error="down", error_at="after")))
    assert failed.usages == (Usage(7, 0), Usage(12, 0))


FAILED = {
    "two of three calls": (turn(A, B, call("c"), error="down", error_at="middle"), {"", "a b"}),
    "half of two calls": (turn(A, B, error="down", error_at="middle", fragments=2), {"", "? ?"}),
    "after": (turn(A, B, error="down", error_at="after"), {"", "a b"}),
    "an answer": (turn(error="down", error_at="middle"), {""}),
}
"""A reply that fails, and the ids of the calls that may be kept behind its text; `?` where the id had not come yet."""


@pytest.mark.parametrize(("reply", "expected"), FAILED.values(), ids=FAILED)
def test_of_a_reply_that_failed_nothing_is_kept_or_its_text_with_or_without_what_came_of_its_calls(
    reply: Turn, expected: set[str]
) -> None:
    (run,) = every(run_of(reply))
    nothing, *kept = run.transcripts
    assert [line.message.role for line in nothing] == ["user"]
    last = [lines[-1].message for lines in kept]
    assert {" ".join(call.id or "?" for call in message.tool_calls) for message in last} == expected
    assert {message.content for message in last} == {"".join(reply.text)}


# taint and resuming


def tainted(run: Predicted) -> list[bool]:
    return [one.tainted for one in run.rounds if one.asked != "none"]


def test_the_context_is_tainted_from_the_first_tool_message_on() -> None:
    assert {tuple(tainted(run)) for run in every(run_of(turn(A), turn(B), turn(), gate=True))} == {(False, True)}
    given = run_of(turn(B), turn(), gate=True, more={"messages": ANSWERED})
    assert {tuple(tainted(run)) for run in every(given)} == {(True,)}
    denied = run_of(turn(DENIED), turn(A), turn(), gate=True)
    assert {tuple(tainted(run)) for run in every(denied)} == {(False, True)}


def resumed(*approvals: str) -> Scenario:
    first = Invocation(messages=USER, turns=(turn(A, WAITS),))
    second = Invocation(continues=0, approvals=approvals, turns=(turn(),))
    return Scenario(name="resumed", gate=True, invocations=(first, second))


def test_a_resumed_run_dispatches_the_whole_turn_before_it_asks_the_model() -> None:
    runs = every(resumed("ok-b"), 1)
    assert {told(run) for run in runs} == {"1 replies, 1: a b, answered", "1 replies, 0: a b, answered"}
    for run in runs:
        assert run.rounds[0].ask is None
        assert run.usages == (Usage(10, 0),), "of this run alone"
    assert {tuple(shown(run.transcripts[0])[2:]) for run in runs} == {('tool(a): "ok"', 'tool(b): "ok"', ANSWER)}


def test_a_resumed_run_without_the_approval_asks_nobody_again() -> None:
    for run in every(resumed("another"), 1):
        assert told(run) == "0 replies, approval"
        assert run.pending == (WAITS,)


def test_a_replay_asks_neither_model_nor_tools() -> None:
    first = HAND.invocations[0]
    scenario = HAND.model_copy(update={"invocations": (first, first.model_copy(update={"runner": "replay"}))})
    (run,) = every(scenario, 1)
    assert [one.ask.how for one in run.rounds if one.ask] == ["replayed", "replayed"]
    assert [one.running() for one in run.rounds] == [[], []]
    assert run.usages == (Usage(30, 9),)


# what is not predicted

LATER: dict[str, tuple[dict[str, Any], str]] = {
    "cancelled": ({"cancel": "tools"}, "invocations.1.cancel: where"),
    "at once": ({"alongside": True}, "invocations.1.alongside: runs"),
    "another replay": ({"runner": "replay", "messages": (Said(content="else"),)}, "invocations.1.runner: a replay"),
}


@pytest.mark.parametrize(("more", "why"), LATER.values(), ids=LATER)
def test_what_nothing_fixes_is_not_predicted(more: dict[str, Any], why: str) -> None:
    first = HAND.invocations[0]
    scenario = HAND.model_copy(update={"invocations": (first, first.model_copy(update=more))})
    assert (unpredicted(scenario) or "").startswith(why)


@pytest.mark.parametrize("name", ["max_iter", "max_parallel_tools", "max_tokens", "max_tool_calls"])
def test_neither_is_what_a_limit_below_zero_means(name: str) -> None:
    zero, below = (HAND.model_copy(update={"options": Options.model_validate({name: limit})}) for limit in (0, -1))
    assert unpredicted(zero) is None
    assert unpredicted(below) == f"options.{name}: what a limit below zero means is not fixed"


def test_neither_is_a_server_nor_a_call_with_two_fates() -> None:
    assert "the bytes of a server" in (unpredicted(HAND.model_copy(update={"transport": "http"})) or "")
    two = run_of(turn(A, A.model_copy(update={"answer": "another"})))
    assert (unpredicted(two) or "").startswith("call a: it is proposed twice")
