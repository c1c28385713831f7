"""The checks of requests: what the model's side alone can tell of a loop. Pure functions of one conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from looptck.canonical import canonical
from looptck.contract.ag03 import DENIED_PREFIX, Message
from looptck.oracle.lines import unfit
from looptck.report.text import how_many
from looptck.serve.messages import is_json
from looptck.serve.rules import Rules, Unjudged
from looptck.suite.evidence import line
from looptck.suite.model import Finding, equal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from looptck.scenario import Call
    from looptck.serve.conversation import Conversation, Step
    from looptck.serve.rules import RuleFunction
    from looptck.serve.stops import Kind

RULES = Rules()
NO_TURN = Unjudged("no request had to show a turn")
NOT_ASKED = Unjudged("nothing was asked")
TWINS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
"""Options that have two names in the dialects of such servers."""


# ------------------------------------------------------------------------------------------------------ the input


@RULES.check("requests/readable", "end-to-end")
def readable(c: Conversation) -> Finding | Unjudged:
    """Every request is a JSON object with a model and a list of messages."""
    if not c.exchanges:
        return NOT_ASKED
    return equal([], [f"request {exchange.number}" for exchange in c.exchanges if exchange.asked is None])


@RULES.check("requests/input", "requests-carry-messages", about_input=True)
def input_(c: Conversation) -> Finding | Unjudged:
    """The first request holds the input of the scenario and nothing else, system prompts aside."""
    if c.invocation.continues is not None:
        return Unjudged("the input continues an earlier run: the checks of turns look at it")
    if not c.calls:
        return NOT_ASKED
    given, seen = (_unprompted(messages) for messages in (c.given, c.calls[0].asked.messages))
    if c.opening == ():
        return equal(_lines(given), _lines(seen))
    return equal(_lines(given), _lines(seen[: len(given)]))


@RULES.check("requests/system-first", "system-prompt-first", about_input=True)
def system_first(c: Conversation) -> Finding | Unjudged:
    """The system prompt of the scenario is the first message of every request."""
    if not c.scenario.options.system or _led(c):
        return Unjudged("the scenario sets no system prompt, or its input has one")
    if not c.calls:
        return NOT_ASKED
    expected = line(Message("system", c.scenario.options.system))
    seen = [_lines(call.asked.messages[:1]) for call in c.calls]
    return equal([[expected]] * len(seen), seen)


@RULES.check("requests/system-once", "system-prompt-once", about_input=True)
def system_once(c: Conversation) -> Finding | Unjudged:
    """No request holds more system messages than the input and the one prompt that is added to it."""
    if not c.scenario.options.system:
        return Unjudged("the scenario sets no system prompt")
    return _systems(c)


@RULES.check("requests/system-none", "system-prompt-none", about_input=True)
def system_none(c: Conversation) -> Finding | Unjudged:
    """Where the scenario sets no system prompt the requests hold no system message but those of the input."""
    if c.scenario.options.system:
        return Unjudged("the scenario sets a system prompt")
    return _systems(c)


def _systems(c: Conversation) -> Finding | Unjudged:
    if not c.calls:
        return NOT_ASKED
    added = bool(c.scenario.options.system) and not _led(c)
    expected = added + sum(message.role == "system" for message in _inputs(c))
    seen = [sum(message.role == "system" for message in call.asked.messages) for call in c.calls]
    return Finding(max(seen) <= expected, [f"at most {expected}"] * len(seen), seen)


def _inputs(c: Conversation) -> list[Message]:
    """The messages that scenarios give to the run: its own input and that of the runs it continues."""
    place: int | None = c.place
    found: list[Message] = []
    while place is not None:
        invocation = c.scenario.invocations[place]
        found = [*(said.message() for said in invocation.messages), *found]
        place = invocation.continues
    return found


def _led(c: Conversation) -> bool:
    """Whether the run's input starts with a system message of its own."""
    given = _inputs(c)
    return bool(given) and given[0].role == "system"


def _unprompted(messages: Iterable[Message]) -> list[Message]:
    return [message for message in messages if message.role != "system"]


# --------------------------------------------------------------------------------------------- tools and options


@RULES.check("requests/tools-sent", "definitions-every-call")
def tools_sent(c: Conversation) -> Finding | Unjudged:
    """Every request offers the same tools as the first."""
    if len(c.calls) < 2:  # noqa: PLR2004 - one has nothing to be compared with
        return Unjudged("there was no second request")
    first, *others = (sorted(call.asked.tools) for call in c.calls)
    return equal([first] * len(others), others)


@RULES.check("requests/tools-known", "definitions-every-call", note=True)
def tools_known(c: Conversation) -> Finding | Unjudged:
    """The first request offers the tools that the model is going to call."""
    wanted = {call.name for turn in c.turns if turn is not None for call in turn.calls}
    if not c.calls or not wanted:
        return Unjudged("the model calls no tool") if c.calls else NOT_ASKED
    return equal(wanted, wanted & set(c.calls[0].asked.tools))


@RULES.check("requests/options", "options-every-call")
def options(c: Conversation) -> Finding | Unjudged:
    """Every request has the call options of the scenario as fields, unchanged."""
    wanted = c.scenario.options.call_options
    if not wanted:
        return Unjudged("the scenario sets no call options")
    if not c.calls:
        return NOT_ASKED
    return equal([wanted] * len(c.calls), [_fields(call.asked.body, wanted) for call in c.calls])


def _fields(body: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    names = {name: name if name in body else TWINS.get(name, name) for name in wanted}
    return {name: body[own] for name, own in names.items() if own in body}


# ------------------------------------------------------------------------------------------------------ the turns


def _each(
    c: Conversation,
    one: Callable[[Step], tuple[Any, Any]],
    chosen: Callable[[Step], bool] = lambda _: True,
    nothing: Unjudged = NO_TURN,
) -> Finding | Unjudged:
    """Expected and seen of the turns that a request had to show; calls that share an id have a check of their own.

    Chosen are those that can show something: `nothing` says what it means that there is none.
    """
    steps = [step for step in _plain_steps(c) if chosen(step)]
    if not steps:
        return nothing
    both = {f"request {step.number}": one(step) for step in steps}
    return equal({name: pair[0] for name, pair in both.items()}, {name: pair[1] for name, pair in both.items()})


def _plain_steps(c: Conversation) -> list[Step]:
    """The turns whose calls can be told apart by their ids."""
    return [step for step in c.steps() if len(set(step.ids)) == len(step.ids)]


@RULES.check("requests/appended-only", "requests-carry-messages")
def appended_only(c: Conversation) -> Finding | Unjudged:
    """Each request starts with all messages of the one before, unchanged."""
    return _each(
        c,
        lambda step: (_lines(step.before), _lines(step.after[: len(step.before)])),
        chosen=lambda step: not step.opens,
    )


@RULES.check("requests/proposing-turn", "transcript-appends")
def proposing_turn(c: Conversation) -> Finding | Unjudged:
    """Each request shows the turn before it as an assistant message with all of its calls: id, name and arguments."""
    return _each(c, lambda step: (_calls(step.message, step), _calls(_shown(step), step)))


@RULES.check("requests/turn-text", "transcript-appends")
def turn_text(c: Conversation) -> Finding | Unjudged:
    """The text that stands beside calls stays in the message of their turn."""
    return _each(
        c,
        lambda step: (step.message.content, _shown(step).content),
        chosen=lambda step: [call.id for call in _shown(step).tool_calls] == step.ids,  # which the check before tells
        nothing=Unjudged("no request shows a turn with all of its calls"),
    )


@RULES.check("requests/one-answer-each", "results-matched-by-id")
def one_answer_each(c: Conversation) -> Finding | Unjudged:
    """Behind each turn every call has one tool message with its id, and there is none with another id."""
    return _each(c, lambda step: (sorted(step.ids), sorted(_answered(step))))


@RULES.check("requests/call-order", "results-in-call-order")
def call_order(c: Conversation) -> Finding | Unjudged:
    """The tool messages of a turn stand in the order of its calls."""
    return _each(
        c,
        lambda step: ([name for name in step.ids if name in _known(step)], _known(step)),
        chosen=lambda step: len(_known(step)) > 1,
        nothing=Unjudged("no request answers two calls of a turn"),
    )


@RULES.check("requests/nothing-else", "requests-carry-messages")
def nothing_else(c: Conversation) -> Finding | Unjudged:
    """Behind what was sent before there is the turn, then its tool messages, and nothing else."""

    def one(step: Step) -> tuple[list[str], list[str]]:
        strange = [*step.between, *(message for message in step.behind if message.role != "tool")]
        return [], _lines(strange)

    return _each(c, one)


@RULES.check("requests/own-results", "results-matched-by-id")
def own_results(c: Conversation) -> Finding | Unjudged:
    """No tool message carries the answer that the scenario gives to another call of the turn."""

    def one(step: Step) -> tuple[list[str], list[str]]:
        seen = _texts(step)
        return _results(_expected(c, step)), _results({name: seen[name] for name in step.ids})

    def tells(step: Step) -> bool:
        """Whether the answers are those of the scenario, not of a client's own tools, and can be mixed up at all."""
        expected, seen = _expected(c, step), _texts(step)
        same = set(expected) == set(seen) and sorted(expected.values()) == sorted(seen.values())
        return same and len(set(expected.values())) > 1

    return _each(c, one, tells, Unjudged("no turn has calls that can be told apart by their answers"))


@RULES.check("requests/denied-text", "denied-text")
def denied_text(c: Conversation) -> Finding | Unjudged:
    """The tool message of a denied call reads as the specification has it, with the reason of the gate."""
    return _contents(c, "no denied call was answered", lambda call: c.scenario.gate and call.verdict == "deny")


@RULES.check("requests/tool-answers", "results-matched-by-id", note=True)
def tool_answers(c: Conversation) -> Finding | Unjudged:
    """Tool messages carry the answers of the scenario; a client whose tools answer otherwise is none the worse."""

    def ran(call: Call) -> bool:
        return (call.verdict == "allow" or not c.scenario.gate) and not unfit(call)  # a loop may answer those itself

    return _contents(c, "no call was answered", ran, prefixed=True)


@RULES.check("requests/duplicate-ids", "duplicate-ids")
def duplicate_ids(c: Conversation) -> Finding | Unjudged:
    """A turn whose calls share an id is shown whole, with a tool message for each of them."""
    steps = [step for step in c.steps() if len(set(step.ids)) < len(step.ids)]
    if not steps:
        return Unjudged("no two calls of a turn share an id")
    expected = [[*_calls(step.message, step), *step.ids] for step in steps]
    return equal(expected, [[*_calls(_shown(step), step), *_answered(step)] for step in steps])


@RULES.check("requests/malformed-arguments", "arguments-verbatim")
def malformed_arguments(c: Conversation) -> Finding | Unjudged:
    """Arguments that are no JSON stay in the turn as the model wrote them."""
    written = [(step, call) for step in c.steps() for call in step.turn.calls if not is_json(call.arguments)]
    if not written:
        return Unjudged("the model wrote no malformed arguments")
    expected = {call.id: call.arguments for _, call in written}
    seen = {own.id: own.arguments for step, _ in written for own in _shown(step).tool_calls if own.id in expected}
    return equal(expected, seen)


def _contents(
    c: Conversation, nothing: str, chosen: Callable[[Call], bool], *, prefixed: bool = False
) -> Finding | Unjudged:
    """The texts of the tool messages of some calls. With `prefixed`, a failed tool's may stand behind a prefix."""
    expected, seen = {}, {}
    for step in _plain_steps(c):
        texts = _texts(step)
        for call in step.turn.calls:
            if chosen(call) and call.id in texts:
                wanted, text = _answer(c, call), texts[call.id]
                behind = prefixed and (call.is_error or call.raises is not None) and wanted in text
                expected[call.id], seen[call.id] = wanted, wanted if behind else text
    return equal(expected, seen) if expected else Unjudged(nothing)


def _answer(c: Conversation, call: Call) -> str:
    if c.scenario.gate and call.verdict == "deny":
        return DENIED_PREFIX + call.reason
    return call.raises if call.raises is not None else call.answer


def _expected(c: Conversation, step: Step) -> dict[str, str]:
    return {call.id: _answer(c, call) for call in step.turn.calls}


def _texts(step: Step) -> dict[str, str]:
    """Id to text of the tool messages of a turn."""
    return {str(message.tool_call_id): message.content for message in step.answers}


def _results(texts: dict[str, str]) -> list[str]:
    return [f"{name}: {text}" for name, text in texts.items()]


def _shown(step: Step) -> Message:
    """The turn as the request shows it; an empty message where it does not."""
    return step.after[step.place] if step.place is not None else Message("assistant", "(no such message)")


def _calls(message: Message, step: Step) -> list[str]:
    """The calls of a message as lines; arguments that the model wrote malformed may be anything."""
    malformed = {call.id for call in step.turn.calls if not is_json(call.arguments)}
    return [
        f"{call.id} = {call.name}({'…' if call.id in malformed else canonical(call.arguments)})"
        for call in message.tool_calls
    ]


def _answered(step: Step) -> list[str]:
    return [str(message.tool_call_id) for message in step.answers]


def _known(step: Step) -> list[str]:
    """The calls of a turn that have been answered, as they were."""
    return [name for name in dict.fromkeys(_answered(step)) if name in step.ids]


def _lines(messages: Iterable[Message]) -> list[str]:
    return [line(message) for message in messages]


# ----------------------------------------------------------------------------------------------- the end of the run


@RULES.check("requests/all-asked", "loop-repeats", needs_end=True)
def all_asked(c: Conversation) -> Finding | Unjudged:
    """As long as replies propose calls and nothing ends the run, the model is asked again."""
    return Finding(
        len(c.calls) >= c.least, f"at least {how_many(c.least, 'model call')}", how_many(len(c.calls), "model call")
    )


def _none_after(kind: Kind) -> RuleFunction:
    def function(c: Conversation) -> Finding | Unjudged:
        end = c.end
        if end is None or kind not in end[1].sure:
            return Unjudged("nothing of this kind ends the run")
        number, _ = end
        if len(c.calls) < number:
            return Unjudged("the run did not come that far")
        return equal(how_many(number, "model call"), how_many(len(c.calls), "model call"))

    return function


ENDS: tuple[tuple[Kind, str, str, str], ...] = (
    ("answer", "none-after-answer", "loop-repeats", "After a reply without calls nothing more is asked."),
    ("error", "none-after-error", "provider-error-ends-run", "After a reply that failed nothing else is asked."),
    ("cap", "within-cap", "iteration-cap", "Not more model calls are made than the cap of the scenario allows."),
    ("default-cap", "within-default-cap", "iteration-cap-default", "Without a cap at most eight model calls are made."),
    (
        "tool-calls",
        "within-call-budget",
        "tool-call-budget",
        "A turn that passes the budget of tool calls is the last.",
    ),
    ("tokens", "within-token-budget", "token-budget", "A turn that passes the budget of tokens is the last."),
    ("approval", "none-while-waiting", "approval-runs-nothing", "While a call waits for approval nothing is asked."),
    ("refused", "none-after-refusal", "step-error-not-shown", "After a step that its runner refused nothing is asked."),
    ("replay", "none-in-replay", "replay-calls-nothing", "A run that is replayed asks nothing."),
)
"""What may end a run, the check of it, the requirement, and the statement."""

for ending, name, requirement, statement in ENDS:
    judged = _none_after(ending)
    judged.__doc__ = statement
    RULES.check(f"requests/{name}", requirement)(judged)
