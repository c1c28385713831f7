"""Each check of requests fails on the loop that it is there for, and only such checks do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.serve_asking import (
    ANSWER,
    BROKEN_OFF,
    LYON,
    NICE,
    ONE,
    PARIS,
    QUESTION,
    TWO,
    Messages,
    answering,
    body,
    failed,
    judged,
    proposing,
    requests,
    scenario,
)

from looptck.requirements import requirements
from looptck.scenario import Invocation, Said, Scenario, Turn
from looptck.serve.checks import RULES
from looptck.serve.rules import Rules

PAGE = Path(__file__).parents[2] / "docs" / "serve-model.md"
BRIEF = Said(role="system", content="Be brief.")


def only(keep: Callable[[dict[str, Any]], bool]) -> Callable[[Messages], Messages]:
    return lambda messages: [message for message in messages if keep(message)]


def renamed(messages: Messages) -> Messages:
    for message in messages:
        if message.get("tool_call_id") == LYON.id:
            message["tool_call_id"] = "call_9"
    return messages


def swapped(messages: Messages) -> Messages:
    """The contents of the first turn's two answers change places."""
    if len(messages) > 3:
        messages[2]["content"], messages[3]["content"] = messages[3]["content"], messages[2]["content"]
    return messages


def reversed_answers(messages: Messages) -> Messages:
    return [*messages[:2], *reversed(messages[2:4]), *messages[4:]]


def nudged(messages: Messages) -> Messages:
    return [*messages, {"role": "user", "content": "Go on."}] if messages[-1]["role"] == "tool" else messages


def split(messages: Messages) -> Messages:
    """One assistant message for each call, its answer behind it."""
    if len(messages) < 4:
        return messages
    turns = [proposing(turn) for turn in (Turn(text=TWO.text, calls=(PARIS,)), Turn(calls=(LYON,)))]
    return [messages[0], turns[0], messages[2], turns[1], *messages[3:]]


def prompted_again(messages: Messages) -> Messages:
    turns = sum(message["role"] == "assistant" for message in messages)
    return [{"role": "system", "content": BRIEF.content}] * turns + messages


MISTAKES: dict[str, tuple[Callable[[Messages], Messages], set[str]]] = {
    "drops the proposing turn": (only(lambda message: "tool_calls" not in message), {"proposing-turn"}),
    "drops the answers": (only(lambda message: message["role"] != "tool"), {"one-answer-each"}),
    "drops one answer": (only(lambda message: message.get("tool_call_id") != LYON.id), {"one-answer-each"}),
    "answers under another id": (renamed, {"one-answer-each"}),
    "answers twice": (
        lambda messages: [*messages, messages[-1]] if len(messages) > 3 else messages,
        {"one-answer-each", "appended-only"},
    ),
    "appends as they finish": (reversed_answers, {"call-order"}),
    "mixes results up": (swapped, {"own-results", "tool-answers"}),
    "nudges the model": (nudged, {"nothing-else", "appended-only"}),
    "splits the turn": (split, {"proposing-turn", "one-answer-each", "nothing-else"}),
    "forgets the question": (lambda messages: messages[1:] if len(messages) > 1 else messages, {"appended-only"}),
    "sends the last messages only": (lambda messages: messages[-3:], {"appended-only"}),
    "changes the question": (
        lambda messages: [messages[0] | {"content": f"{len(messages)}"}, *messages[1:]],
        {"input", "appended-only"},
    ),
}


@pytest.mark.parametrize(("sent", "ids"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_by_its_own_checks(sent: Callable[[Messages], Messages], ids: set[str]) -> None:
    given = scenario()
    report = judged(given, requests(given, sent=sent))
    assert report.verdict == "fail"
    assert set(failed(report)) == ids


def answered_wrongly(messages: Messages) -> Messages:
    return [message | {"content": "wrong"} if message["role"] == "tool" else message for message in messages]


LONE = {"own-results", "call-order"}
UNSHOWN = LONE | {"turn-text"}


@pytest.mark.parametrize(
    ("turns", "sent", "ids"),
    [
        ((ONE, ANSWER), list, LONE),
        ((ONE, ANSWER), answered_wrongly, LONE),
        ((Turn(calls=(PARIS, LYON.model_copy(update={"answer": PARIS.answer}))), ANSWER), list, {"own-results"}),
        ((TWO, ANSWER), list, set()),
        ((TWO, ANSWER), lambda messages: messages[:1], UNSHOWN),
    ],
    ids=["a call alone", "a call alone, answered wrongly", "equal answers", "two answers", "no turn is shown"],
)
def test_what_cannot_be_told_does_not_pass(
    turns: tuple[Turn, ...], sent: Callable[[Messages], Messages], ids: set[str]
) -> None:
    given = scenario(*turns)
    report = judged(given, requests(given, sent=sent))
    assert {name for name in UNSHOWN if f"requests/{name}" in report.skipped} == ids
    assert {name for name in UNSHOWN if f"requests/{name}" in report.passed} == UNSHOWN - ids


def test_a_system_prompt_is_first_and_once() -> None:
    given = scenario(system=BRIEF.content)
    assert failed(judged(given, requests(given))) == []
    assert set(failed(judged(given, requests(given, sent=prompted_again)))) >= {"system-once"}
    assert failed(judged(given, requests(scenario()))) == ["system-first"]
    assert failed(judged(scenario(), requests(given))) == ["system-none"]


def test_an_input_that_starts_with_a_system_message_gets_no_other() -> None:
    led = scenario(messages=(BRIEF, QUESTION))
    given = led.model_copy(update={"options": scenario(system="Be long.").options})
    asked = requests(led)
    assert failed(judged(given, asked)) == []
    prompted = [
        raw.replace(b'"messages": [', b'"messages": [{"role": "system", "content": "Be long."}, ') for raw in asked
    ]
    assert failed(judged(given, prompted)) == ["system-once"]


def test_a_system_message_further_on_does_not_lead() -> None:
    given = scenario(messages=(QUESTION, BRIEF), system="Be long.")
    assert failed(judged(given, requests(given))) == []
    bare = scenario(messages=(QUESTION, BRIEF))
    assert failed(judged(given, requests(bare))) == ["system-first"]


def test_tools_are_sent_with_every_request() -> None:
    given = scenario()
    first, *others = requests(given)
    assert failed(judged(given, [first, *(raw.replace(b'"tools"', b'"tool"') for raw in others)])) == ["tools-sent"]
    report = judged(given, [raw.replace(b'"tools"', b'"tool"') for raw in [first, *others]])
    assert (report.verdict, failed(report)) == ("pass", ["tools-known"])


def test_older_functions_are_tools() -> None:
    given = scenario()
    old = [
        json.dumps({**json.loads(raw), "tools": None, "functions": [{"name": "get_weather"}]})
        for raw in requests(given)
    ]
    assert failed(judged(given, [text.encode() for text in old])) == []


@pytest.mark.parametrize(
    ("given", "made", "name"),
    [
        (scenario(TWO, ONE, ANSWER, ANSWER), 4, "none-after-answer"),
        (scenario(TWO.model_copy(update={"error": "boom"}), ONE, ANSWER), 2, "none-after-error"),
        (scenario(TWO.model_copy(update={"status": 500}), ONE, ANSWER), 2, "none-after-error"),
        (scenario(TWO.model_copy(update={"cut_after": 2}), ONE, ANSWER), 2, "none-after-error"),
        (scenario(TWO, ONE, ANSWER, max_iter=2), 3, "within-cap"),
        (scenario(*[ONE] * 9, ANSWER), 9, "within-default-cap"),
        (scenario(TWO, ONE, ANSWER, max_tool_calls=2), 3, "within-call-budget"),
        (scenario(TWO, ONE, ANSWER, max_tokens=14), 2, "within-token-budget"),
        (
            scenario(Turn(calls=(PARIS, LYON.model_copy(update={"verdict": "need_approval"}))), ANSWER, gate=True),
            2,
            "none-while-waiting",
        ),
    ],
)
def test_asking_on_behind_the_end_of_a_run_is_told_by_its_reason(given: Scenario, made: int, name: str) -> None:
    asked = requests(given)
    report = judged(given, asked[:made])
    assert (report.verdict, failed(report)) == ("fail", [name])
    assert failed(judged(given, asked[: made - 1])) == []


@pytest.mark.parametrize(("runner", "refuse"), [("refuse", ("tool/1/1/get_weather",)), ("refuse", ("llm/2",))])
def test_asking_on_behind_a_refused_step_is_told(runner: Any, refuse: tuple[str, ...]) -> None:
    run = Invocation(messages=(QUESTION,), turns=(TWO, ANSWER), runner=runner, refuse=refuse)
    given = Scenario(name="refused", invocations=(run,))
    assert failed(judged(given, requests(given))) == ["none-after-refusal"]
    assert failed(judged(given, requests(given, 1))) == []


def test_a_replayed_run_asks_nothing() -> None:
    run = Invocation(messages=(QUESTION,), turns=(ANSWER,), runner="record")
    given = Scenario(name="replayed", invocations=(run, run.model_copy(update={"runner": "replay"})))
    asked = requests(scenario(ANSWER))
    assert failed(judged(given, asked, [])) == []
    report = judged(given, asked, asked)
    assert failed(report) == ["none-in-replay"]
    assert report.findings[0].invocation == 2


def test_a_denied_call_is_answered_with_the_reason() -> None:
    denied = LYON.model_copy(update={"verdict": "deny", "reason": "too far"})
    given = scenario(Turn(calls=(PARIS, denied)), ANSWER, gate=True)
    asked = requests(given)
    told = [raw.replace(b"rain, 12 C", b"error: denied by policy: too far") for raw in asked]
    assert failed(judged(given, told)) == []
    assert failed(judged(given, asked)) == ["denied-text"]


def test_requests_that_are_none_are_told() -> None:
    given = scenario(ANSWER)
    assert failed(judged(given, [b"hello", *requests(given)])) == ["readable"]


def test_a_loop_that_stops_early_fails_only_where_it_was_done() -> None:
    given = scenario()
    asked = requests(given)[:2]
    assert [finding.verdict for finding in judged(given, asked).findings] == ["fail"]
    report = judged(given, asked, ended=BROKEN_OFF)
    assert (report.verdict, failed(report), report.exit_code()) == ("incomplete", ["all-asked"], 2)
    assert "ended by signal 9" in report.findings[0].message


def test_where_nothing_was_asked_nothing_was_judged() -> None:
    report = judged(scenario(), [])
    assert (report.verdict, report.requests, report.passed, report.notes) == (
        "incomplete",
        0,
        [],
        ["nothing was asked"],
    )
    waiting = scenario(messages=(QUESTION, Said(role="assistant", calls=(PARIS, LYON))), max_tool_calls=1)
    assert judged(waiting, []).verdict == "incomplete", "a loop that asks nothing cannot be told from none"


# retries


@pytest.mark.parametrize("change", [{"status": 500}, {"status": 429}, {"error": "boom"}, {"cut_after": 1}])
def test_an_identical_repetition_of_a_failed_request_is_the_clients_retry(change: dict[str, Any]) -> None:
    given = scenario(TWO.model_copy(update=change), TWO, ONE, ANSWER)
    first, *others = requests(scenario())
    report = judged(given, [first, first, *others])
    assert failed(report) == []
    assert report.notes == ["request 2 repeats a failed one: it counts as a retry of the HTTP client"]


def test_an_identical_repetition_of_an_answered_request_is_no_retry() -> None:
    given = scenario(TWO, TWO, ANSWER)
    first, *_ = requests(given)
    assert "proposing-turn" in failed(judged(given, [first, first]))


def test_retries_beyond_the_script_are_told() -> None:
    given = scenario(Turn(status=500))
    report = judged(given, requests(given) * 3)
    assert report.verdict == "pass"
    assert report.notes[-1] == "more was asked than the script has replies for"


# inputs that continue


def test_the_open_turn_of_an_input_is_answered_before_the_model_is_asked() -> None:
    given = scenario(ANSWER, messages=(QUESTION, Said(role="assistant", content="Well.", calls=(PARIS, LYON))))
    opened: Messages = [
        {"role": "user", "content": QUESTION.content},
        proposing(Turn(text=("Well.",), calls=(PARIS, LYON))),
    ]
    assert failed(judged(given, [body(opened + answering(TWO))])) == []
    assert failed(judged(given, [body(opened)])) == ["one-answer-each"]
    assert failed(judged(given, [body(opened + answering(TWO)[::-1])])) == ["call-order"]
    assert failed(judged(given, [body(opened + opened[1:] + answering(TWO))])) == ["nothing-else"]


def test_an_invocation_that_continues_another_shows_all_of_it() -> None:
    runs = (
        Invocation(messages=(QUESTION,), turns=(TWO, ANSWER)),
        Invocation(messages=(Said(content="And Nice?"),), turns=(ANSWER,), continues=0),
    )
    given = Scenario(name="continued", invocations=runs)
    asked = requests(scenario(TWO, ANSWER))
    before = json.loads(asked[-1])["messages"]
    more: Messages = [{"role": "user", "content": "And Nice?"}]
    assert failed(judged(given, asked, [body([*before, proposing(ANSWER), *more])])) == []
    assert failed(judged(given, asked, [body([*before, *more])])) == ["turn-text"]
    assert failed(judged(given, asked, [body([proposing(ANSWER), *more])])) == ["appended-only"]
    stopped = judged(given, asked, [])
    assert failed(stopped) == ["all-asked"]
    assert ("at least 1 model call", "0 model calls") in [(one.expected, one.seen) for one in stopped.findings]


def test_an_approved_turn_is_answered_and_the_model_not_asked_before() -> None:
    waiting = NICE.model_copy(update={"verdict": "need_approval", "marker": "ok-7"})
    runs = (
        Invocation(messages=(QUESTION,), turns=(Turn(calls=(waiting,)), ANSWER)),
        Invocation(turns=(ANSWER,), continues=0, approvals=("ok-7",)),
    )
    given = Scenario(name="approved", gate=True, invocations=runs)
    first, second = requests(scenario(ONE, ANSWER))
    assert failed(judged(given, [first], [second])) == []
    assert failed(judged(given, [first, second], [])) == ["none-while-waiting"]
    unapproved = given.model_copy(update={"invocations": (runs[0], runs[1].model_copy(update={"approvals": None}))})
    assert failed(judged(unapproved, [first], [])) == []
    assert failed(judged(unapproved, [first], [second])) == ["none-while-waiting"]


# the checks themselves


def test_every_check_serves_a_requirement_says_what_it_states_and_has_its_own_id() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)
    assert {rule.requirement for rule in RULES} <= set(requirements("ag03"))
    assert all(rule.statement.endswith(".") for rule in RULES)
    with pytest.raises(ValueError, match="no id"):
        Rules().check("no id", "loop-repeats")


def test_a_check_that_raises_is_a_fault_of_the_kit(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = Rules()
    rules.check("requests/raises", "loop-repeats", note=True)(lambda _talk: 1 / 0)  # type: ignore[arg-type, return-value]
    monkeypatch.setattr("looptck.serve.judge.RULES", rules)
    report = judged(scenario(), requests(scenario()))
    assert (report.verdict, report.exit_code()) == ("fault", 3)
    assert "ZeroDivisionError" in report.findings[0].message


def test_the_page_lists_the_checks() -> None:
    rows = [
        f"| `{rule.id}` | {rule.record.section} | {rule.level} | `{rule.requirement}` | {rule.statement} |"
        for rule in RULES
    ]
    assert "\n".join(rows) in PAGE.read_text(encoding="utf-8"), "\n".join(rows)
