"""The checks of the profile lesson4 on what is rare: nothing is dropped, cut, stripped, or taken for something near."""

from __future__ import annotations

from looptck.contract.lesson4 import Stop
from looptck.lesson4.evidence import Evidence, answer, dispatched
from looptck.suite.lesson4.answering import CONTEXT, LISTS, SINGLE
from looptck.suite.lesson4.metering import TOGETHER, TOKENS
from looptck.suite.lesson4.stopping import DIFFERING
from looptck.suite.model import Finding, equal


@SINGLE.check("single/answer-verbatim", "answer-without-calls", "spaced-answer")
def answer_verbatim(e: Evidence) -> Finding:
    """The output is the text of the answer as the model wrote it, white space around it included."""
    return equal(e.reply(-1).text, e.run().output)


@CONTEXT.check("history/of-run", "messages-grow", "past", "past-unprompted")
def history_of_run(e: Evidence) -> Finding:
    """The run's messages are the whole list, the history in it."""
    return equal(e.conversation(3), e.lines(e.run().messages))


@LISTS.check("lists/results-verbatim", "results-appended", "odd-results")
def results_verbatim(e: Evidence) -> Finding:
    """What a tool answers is what the model reads: an empty text, a very long one, white space, any script."""
    requests = e.run().requests
    last = e.lines(requests[1].messages)[-len(e.reply(0).asks) :] if len(requests) > 1 else e.ending()
    return equal([answer(ask) for ask in e.reply(0).asks], last)


@LISTS.check("lists/shared-ids", "duplicate-ids", "shared-ids")
def shared_ids(e: Evidence) -> Finding:
    """Two calls of one turn that share an id are both dispatched, and each result has a message of its own."""
    requests = e.run().requests
    sent = e.lines(requests[1].messages) if len(requests) > 1 else e.ending()
    expected = {"dispatched": dispatched(list(e.scenario.asks())), "sent next": e.conversation(1)}
    return equal(expected, {"dispatched": list(e.run().dispatched), "sent next": sent})


@DIFFERING.check(
    "differing/nearly",
    "repeat-identity",
    *(f"near-{what}" for what in ("case", "key-case", "order-in-list", "end-of-long", "swapped", "one-more", "space")),
)
def nearly(e: Evidence) -> Finding:
    """Calls that differ in little are different calls: in case, in the order of a list, at the end of a long text."""
    expected = {"stop": Stop.ANSWERED.value, "ran": dispatched(list(e.scenario.asks()))}
    return equal(expected, {"stop": e.ending(), "ran": list(e.run().dispatched)})


@TOKENS.check("tokens/after-failure", "token-ceiling", "tokens-over-failed", "tokens-over-denied")
def after_failure(e: Evidence) -> Finding:
    """A call that failed or was denied does not put the ceiling off: what its step spent is looked at."""
    seen = {"stop": e.ending(), "model calls": len(e.run().requests)}
    return equal({"stop": Stop.TOKEN_BUDGET.value, "model calls": 1}, seen)


@TOGETHER.check("which/tokens-beside-cost", "token-ceiling", "tokens-over-cheap")
def tokens_beside_cost(e: Evidence) -> Finding:
    """A cost ceiling that is far off does not lift the token ceiling."""
    seen = {"stop": e.ending(), "model calls": len(e.run().requests)}
    return equal({"stop": Stop.TOKEN_BUDGET.value, "model calls": 1}, seen)


@TOGETHER.check("which/cost-beside-tokens", "cost-ceiling", "tokens-far-dear")
def cost_beside_tokens(e: Evidence) -> Finding:
    """A token ceiling that is far off does not lift the cost ceiling."""
    seen = {"stop": e.ending(), "model calls": len(e.run().requests)}
    return equal({"stop": Stop.COST_BUDGET.value, "model calls": 1}, seen)
