"""The scenarios of TestFromTheField: the situation of each public bug thread of docs/field.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from looptck.scenario import Call, Invocation, Options, Said, Scenario, Tokens, Turn

if TYPE_CHECKING:
    from looptck.suite.labels import Labels

WIDE, WIDE_BOUND = 400, 8
"""Calls of the wide turn, and how many of them may be in flight."""
SOFT_LIMIT, KEEPS_ASKING = 3, 12
"""A budget of tool calls, and the turns of one call each that a model proposes all the same."""


def scenarios(labels: Labels) -> tuple[Scenario, ...]:
    """All of them."""
    build = _Builder(labels)
    return (*_limits(build), *_replies(build), *_continued(build), *_approved(build), *_telling(build))


class _Builder:
    """Builds scenarios of seeded turns that have their usage."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels

    def scenario(self, name: str, *runs: Invocation, options: Options | None = None, **more: Any) -> Scenario:
        """A scenario of these runs."""
        return Scenario(name=name, options=options or Options(), invocations=runs, **more)

    def run(self, *turns: Turn, **more: Any) -> Invocation:
        """A run that starts from a new question, behind an earlier run where `continues` names one."""
        return Invocation(messages=(Said(content=self.labels.text()),), turns=turns, **more)

    def turn(self, *calls: Call, text: tuple[str, ...] = (), **more: Any) -> Turn:
        """A reply that proposes these calls."""
        return Turn(text=text, calls=calls, usage=self.spent(), **more)

    def calls(self, number: int) -> Turn:
        """A reply of so many calls that run well."""
        return self.turn(*(self.call() for _ in range(number)))

    def answer(self) -> Turn:
        """A reply without calls."""
        return Turn(text=self.labels.pieces(), usage=self.spent())

    def spent(self) -> Tokens:
        """The usage of a reply: no two in a row are likely to be the same."""
        return Tokens(input=self.labels.number(30, 9_000), output=self.labels.number(3, 900))

    def call(self, verdict: Literal["allow", "deny", "need_approval"] = "allow", **more: Any) -> Call:
        """A call that the gate, where there is one, gives this verdict."""
        labels = self.labels
        drawn = {
            "id": labels.call_id(),
            "name": labels.tool(),
            "arguments": labels.arguments(),
            "answer": labels.text(),
            "verdict": verdict,
            "reason": labels.text() if verdict != "allow" else "",
            "marker": labels.marker() if verdict == "need_approval" else "",
        }
        return Call(**(drawn | more))

    def malformed(self, shape: str) -> Call:
        """A call whose arguments are no JSON, after this shape, and which its tool refuses."""
        return self.call(arguments=shape.format(self.labels.text()), is_error=True)


def _limits(build: _Builder) -> tuple[Scenario, ...]:
    """Where the bug was in a limit."""
    name = build.labels.tool()
    wide = build.turn(*(build.call(name=name) for _ in range(WIDE)))
    soft = (build.turn(build.call(name=name)) for _ in range(KEEPS_ASKING))
    return (
        build.scenario(
            "parallel-over-limit",
            build.run(build.calls(2), build.calls(8), build.answer()),
            options=Options(max_tool_calls=6),
            finish="first",
        ),
        build.scenario(
            "hundreds-at-once",
            build.run(wide, build.answer(), cancel="tools"),
            options=Options(max_parallel_tools=WIDE_BOUND),
        ),
        build.scenario(
            "cut-off-by-cap",
            build.run(
                build.turn(*build.calls(2).calls, text=build.labels.pieces()),
                build.turn(*build.calls(3).calls, text=build.labels.pieces()),
                build.answer(),
            ),
            options=Options(max_iter=2),
        ),
        build.scenario(
            "last-turn",
            build.run(build.calls(1), build.turn(*build.calls(3).calls, text=build.labels.pieces()), build.answer()),
            options=Options(max_iter=2, max_tool_calls=4),
            finish="last",
        ),
        build.scenario(
            "asks-past-limit",
            build.run(*soft, build.answer()),
            options=Options(max_iter=50, max_tool_calls=SOFT_LIMIT),
        ),
    )


def _replies(build: _Builder) -> tuple[Scenario, ...]:
    """Where the bug was in what became of a reply and its calls."""
    said, again = build.labels.pieces(), build.labels.pieces()
    broken = build.malformed('{{"path": "notes.txt", "content": "{}')
    mended = build.call(name=broken.name)
    cut, bare, comma = (build.malformed(shape) for shape in ('{{"query": "{}', "{{query: {}}}", '{{"query": "{}",}}'))
    shared = build.labels.call_id()
    return (
        build.scenario(
            "text-before-calls",
            build.run(
                build.turn(build.call(), text=said),
                build.turn(build.call(), build.call(), text=again),
                build.answer(),
                read="all",
            ),
        ),
        build.scenario("invalid-call-alone", build.run(build.turn(broken), build.turn(mended), build.answer())),
        build.scenario("malformed-shapes", build.run(build.turn(cut, bare, comma, fragments=3), build.answer())),
        build.scenario(
            "ids-missing-and-shared",
            build.run(
                build.turn(*(build.call(id=call_id) for call_id in ("", shared, "", build.labels.call_id(), shared))),
                build.answer(),
            ),
        ),
    )


def _continued(build: _Builder) -> tuple[Scenario, ...]:
    """Where the bug was in a run that starts from the transcript of another."""
    return (
        build.scenario(
            "capped-then-asked",
            build.run(build.calls(3)),
            build.run(build.answer(), continues=0),
            options=Options(max_iter=1),
        ),
        build.scenario(
            "cancelled-then-asked",
            build.run(build.turn(build.call(), build.call("deny"), build.call()), cancel="tools"),
            build.run(build.answer(), continues=0),
            gate=True,
        ),
        build.scenario(
            "three-sessions",
            build.run(build.answer()),
            *(build.run(build.answer(), continues=place) for place in range(2)),
            options=Options(system=build.labels.text()),
        ),
    )


def _approved(build: _Builder) -> tuple[Scenario, ...]:
    """Where the bug was in a run that is resumed with approvals, or comes after one."""
    asked, first, second, beside = (build.call("need_approval") for _ in range(4))
    return (
        build.scenario(
            "approved-then-asked",
            build.run(build.turn(asked, text=build.labels.pieces())),
            Invocation(continues=0, approvals=(asked.marker,), turns=(build.answer(),)),
            build.run(build.answer(), continues=1, approvals=(asked.marker,)),
            gate=True,
        ),
        build.scenario(
            "approved-two-of-three",
            build.run(build.calls(1), build.turn(first, build.call(), second)),
            Invocation(continues=0, approvals=(first.marker, second.marker), turns=(build.calls(1), build.answer())),
            gate=True,
        ),
        build.scenario(
            "rejected-one-of-two",
            build.run(build.turn(build.call("deny"), build.call()), build.turn(beside, build.call("deny"))),
            Invocation(continues=0, approvals=(beside.marker,), turns=(build.answer(),)),
            gate=True,
        ),
    )


def _telling(build: _Builder) -> tuple[Scenario, ...]:
    """Where the bug was in what a run tells of itself: events, spans, usage."""
    return (
        build.scenario(
            "reader-leaves",
            build.run(build.turn(*build.calls(2).calls, text=build.labels.pieces()), build.answer(), read=2),
            build.run(
                build.turn(*build.calls(2).calls, text=build.labels.pieces()),
                build.answer(),
                read="all",
                alongside=True,
            ),
        ),
        build.scenario(
            "tokens-in-trace",
            build.run(build.calls(2), build.calls(1), build.answer()),
            tracer=True,
        ),
        build.scenario(
            "traced-side-by-side",
            build.run(build.calls(3), build.calls(2), build.answer()),
            tracer=True,
            finish="last",
        ),
        build.scenario(
            "four-model-calls",
            build.run(
                build.turn(build.call(), early_usage=build.spent()),
                build.calls(2),
                build.calls(1),
                build.answer(),
            ),
        ),
    )
