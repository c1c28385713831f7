"""Scenarios of the profile lesson4 that hold what is rare: odd texts, calls nearly the same, failed spending."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from looptck.suite.lesson4.building import Builder, Outcome, metered

if TYPE_CHECKING:
    from looptck.lesson4.scenario import Scenario
    from looptck.suite.labels import Labels

_LONG = 700
"""Texts of four words that make one long answer, well over ten thousand characters."""


def spaced_answer(labels: Labels) -> Scenario:
    """An answer with white space around it."""
    b = Builder(labels)
    spaced = b.answer().model_copy(update={"text": f"\n {labels.text()}  "})
    return b.scenario("spaced-answer", b.turn(), spaced)


def odd_results(labels: Labels) -> Scenario:
    """Tools that answer nothing, very much, white space, and something in another script."""
    b = Builder(labels)
    long = "\n".join(labels.text() for _ in range(_LONG))
    answers = ("", long, " \n", f"naïve ☂ 日本 {labels.number(0, 99)}")
    return b.scenario(
        "odd-results", b.turn(*(b.ask().model_copy(update={"answer": answer}) for answer in answers)), b.answer()
    )


def shared_ids(labels: Labels) -> Scenario:
    """A turn of three calls of different tools, of which the first and the last share an id, and one call more."""
    b = Builder(labels)
    first, between, last, later = (b.ask(name=name) for name in labels.tools(4))
    return b.scenario(
        "shared-ids", b.turn(first, between, last.model_copy(update={"id": first.id})), b.turn(later), b.answer()
    )


def near_repeats(labels: Labels) -> tuple[Scenario, ...]:
    """Pairs of calls that differ in little, one after the other, where not one call may be made twice."""
    b, name, text = Builder(labels), labels.tool(), labels.text()
    long = " ".join(labels.text() for _ in range(_LONG))
    pairs: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "case": ({"q": text}, {"q": text.upper()}),
        "key-case": ({"q": text}, {"Q": text}),
        "order-in-list": ({"q": ["a", "b", text]}, {"q": [text, "b", "a"]}),
        "end-of-long": ({"q": f"{long} 1"}, {"q": f"{long} 2"}),
        "swapped": ({"from": "a", "to": text}, {"from": text, "to": "a"}),
        "one-more": ({"q": text}, {"q": text, "n": None}),
        "space": ({"q": text}, {"q": f"{text} "}),
    }
    once = metered(repeat_limit=1)
    return tuple(
        b.scenario(f"near-{what}", *(b.turn(b.ask(name=name, arguments=one)) for one in pair), b.answer(), meter=once)
        for what, pair in pairs.items()
    )


def failing_spenders(labels: Labels) -> tuple[Scenario, ...]:
    """A token ceiling passed in a step whose only call failed, or was denied."""
    b = Builder(labels)
    outcomes: tuple[Outcome, ...] = ("failed", "denied")
    return tuple(
        b.scenario(
            f"tokens-over-{outcome}",
            b.turn(b.ask(outcome), spent=(90, 40)),
            b.answer(),
            meter=metered(max_total_tokens=100),
        )
        for outcome in outcomes
    )


def one_ceiling_of_two(labels: Labels) -> tuple[Scenario, ...]:
    """Of a token and a cost ceiling the one is passed, and the other far off."""
    b = Builder(labels)
    limits = {"tokens-over-cheap": (100, 9.0), "tokens-far-dear": (900, 0.2)}
    return tuple(
        b.scenario(
            name,
            b.turn(spent=(90, 40)),
            b.answer(),
            meter=metered(max_total_tokens=tokens, max_cost=cost, price_per_1k_input=2.0, price_per_1k_output=10.0),
        )
        for name, (tokens, cost) in limits.items()
    )
