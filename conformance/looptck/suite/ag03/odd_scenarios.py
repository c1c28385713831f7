"""The scenarios of TestHandExample that hold what is rare: empty and long texts, a call proposed twice, many calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.scenario import Call, Invocation, Said, Scenario, Turn

if TYPE_CHECKING:
    from looptck.suite.labels import Labels

_LONG = 700
"""Texts of four words that make one long answer, well over ten thousand characters."""
_MANY = 12


def scenarios(labels: Labels) -> tuple[Scenario, ...]:
    """An input of odd messages, odd tool answers, a call that a later turn proposes again, a turn of twelve calls."""
    return (
        _scenario("odd-input", _odd_input(labels), Turn(calls=(_call(labels),)), Turn(text=labels.pieces())),
        _scenario("odd-answers", (Said(content=labels.text()),), _odd_answers(labels), Turn(text=labels.pieces())),
        _again(labels),
        _scenario(
            "many-calls",
            (Said(content=labels.text()),),
            Turn(calls=tuple(_call(labels) for _ in range(_MANY))),
            Turn(text=labels.pieces()),
        ),
    )


def _scenario(name: str, messages: tuple[Said, ...], *turns: Turn) -> Scenario:
    return Scenario(name=name, invocations=(Invocation(messages=messages, turns=turns),))


def _call(labels: Labels, answer: str | None = None) -> Call:
    text = labels.text() if answer is None else answer
    return Call(id=labels.call_id(), name=labels.tool(), arguments=labels.arguments(), answer=text)


def _odd_input(labels: Labels) -> tuple[Said, ...]:
    """Two user messages in a row, an empty one, an assistant's text, white space around a text, one text twice."""
    twice = labels.text()
    return (
        Said(content=labels.text()),
        Said(content=labels.text()),
        Said(role="assistant", content=labels.text()),
        Said(content=""),
        Said(content=f"\n  {labels.text()} "),
        Said(content=twice),
        Said(content=twice),
    )


def _odd_answers(labels: Labels) -> Turn:
    """An empty answer, one of more than ten thousand characters, one of white space, and one in another script."""
    long = "\n".join(labels.text() for _ in range(_LONG))
    return Turn(
        calls=tuple(_call(labels, answer) for answer in ("", long, " \n", f"naïve ☂ 日本 {labels.number(0, 99)}"))
    )


def _again(labels: Labels) -> Scenario:
    """Two turns that propose the same call under two ids; the tool answers differently the second time."""
    first = _call(labels)
    again = first.model_copy(update={"id": labels.call_id(), "answer": labels.text()})
    answer = Turn(text=labels.pieces())
    return _scenario("call-again", (Said(content=labels.text()),), Turn(calls=(first,)), Turn(calls=(again,)), answer)
