"""TestBudgetStopsBeforeDispatch: budgets are looked at before the spend (section 2.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.scenario import Call, Invocation, Options, Said, Scenario, Tokens, Turn
from looptck.suite.evidence import Evidence, tokens
from looptck.suite.model import Finding, Test, equal, one_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from looptck.suite.labels import Labels


def scenarios(labels: Labels) -> tuple[Scenario, ...]:
    """Turns that meet, pass and stay under each of the two ceilings, in one turn, over several, in several runs."""
    build = _Builder(labels)
    calls, spend = Options(max_tool_calls=2), Options(max_tokens=100)
    return (
        build("calls-over", calls, build.turn(3), build.answer()),
        build("calls-at", calls, build.turn(2), build.answer()),
        build("calls-later", calls, build.turn(1), build.turn(2), build.answer()),
        build("calls-only", calls, build.turn(2, (900, 90)), build.answer((900, 90))),
        build("tokens-over", spend, build.turn(1, (70, 40)), build.answer()),
        build("tokens-later", spend, build.turn(1, (40, 20)), build.turn(2, (30, 20)), build.answer()),
        build("tokens-at", spend, build.turn(1, (60, 40)), build.answer((1, 1))),
        build("tokens-under", spend, build.turn(1, (40, 20)), build.turn(5, (20, 10)), build.answer((5, 1))),
        build("tokens-answer", spend, build.answer((70, 40)), build.answer()),
        build.twice("calls-twice", calls, lambda: (build.turn(2), build.answer())),
        build.twice("tokens-twice", spend, lambda: (build.turn(1, (40, 20)), build.answer((20, 10)))),
        build("calls-after-failed", calls, build.failing_turn(2), build.turn(1), build.answer()),
        build("calls-one-by-one", calls, build.turn(1), build.turn(1), build.turn(1), build.answer()),
    )


class _Builder:
    """Builds scenarios of seeded turns."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels

    def __call__(self, name: str, options: Options, *turns: Turn) -> Scenario:
        return Scenario(name=name, options=options, invocations=(self._run(turns),))

    def twice(self, name: str, options: Options, turns: Callable[[], tuple[Turn, ...]]) -> Scenario:
        """Two runs of one agent."""
        again = self._run(turns()).model_copy(update={"reuse_agent": True})
        return Scenario(name=name, options=options, invocations=(self._run(turns()), again))

    def _run(self, turns: tuple[Turn, ...]) -> Invocation:
        return Invocation(messages=(Said(content=self.labels.text()),), turns=turns)

    def turn(self, calls: int, spent: tuple[int, int] = (5, 5)) -> Turn:
        """A turn of so many calls."""
        labels = self.labels
        proposed = tuple(
            Call(id=labels.call_id(), name=labels.tool(), arguments=labels.arguments(), answer=labels.text())
            for _ in range(calls)
        )
        return Turn(calls=proposed, usage=Tokens(input=spent[0], output=spent[1]))

    def failing_turn(self, calls: int) -> Turn:
        """A turn of so many calls, all of which fail."""
        turn = self.turn(calls)
        return turn.model_copy(
            update={"calls": tuple(call.model_copy(update={"is_error": True}) for call in turn.calls)}
        )

    def answer(self, spent: tuple[int, int] = (5, 5)) -> Turn:
        """A turn without calls."""
        return Turn(text=self.labels.pieces(), usage=Tokens(input=spent[0], output=spent[1]))


TEST = Test("TestBudgetStopsBeforeDispatch", "2.4", scenarios)


def _done(e: Evidence, place: int = 0) -> dict[str, int]:
    return {"model calls": len(e.requests(place)), "tool runs": len(e.runs(place))}


def _budget_error(e: Evidence) -> dict[str, object] | str:
    failed = e.invocation().error
    if failed is None or failed.kind != "budget":
        return e.ending()
    return {"error": "BudgetError", "used": failed.used, "limit": failed.limit}


@TEST.check("budget/calls-none-run", "tool-call-budget", "calls-over")
def calls_none_run(e: Evidence) -> Finding:
    """Three calls against a budget of two: none of them runs, and the model is not asked again."""
    return equal({"model calls": 1, "tool runs": 0}, _done(e))


@TEST.check("budget/calls-error", "budget-error", "calls-over")
def calls_error(e: Evidence) -> Finding:
    """The run ends with BudgetError: used 3 (attempted) or 0 (done), limit 2."""
    error = {"error": "BudgetError", "used": 3, "limit": 2}
    return one_of(_budget_error(e), error, error | {"used": 0})


@TEST.check("budget/calls-at-limit", "tool-call-budget", "calls-at")
def calls_at_limit(e: Evidence) -> Finding:
    """Two calls against a budget of two run, and the run goes on to its answer."""
    expected = {"model calls": 2, "tool runs": 2, "ended": "answered"}
    return equal(expected, {**_done(e), "ended": e.ending()})


@TEST.check("budget/calls-whole-run", "tool-call-budget-whole-run", "calls-later")
def calls_whole_run(e: Evidence) -> Finding:
    """The tool-call budget counts over the whole run: after one call, a turn of two passes a budget of two."""
    return equal({"model calls": 2, "tool runs": 1, "ended": "budget"}, {**_done(e), "ended": e.ending()})


@TEST.check("budget/calls-one-by-one", "tool-call-budget-whole-run", "calls-one-by-one")
def calls_one_by_one(e: Evidence) -> Finding:
    """The tool-call budget counts over all turns of a run: the third of three single calls passes a budget of two."""
    return equal({"model calls": 3, "tool runs": 2, "ended": "budget"}, {**_done(e), "ended": e.ending()})


@TEST.check("budget/calls-failed", "failed-calls-in-budget", "calls-after-failed")
def calls_failed(e: Evidence) -> Finding:
    """A call whose tool failed has run, and counts: after two of them one more passes a budget of two."""
    return equal({"model calls": 2, "tool runs": 2, "ended": "budget"}, {**_done(e), "ended": e.ending()})


@TEST.check("budget/calls-only", "budget-ceilings-apart", "calls-only")
def calls_only(e: Evidence) -> Finding:
    """A budget that sets no token ceiling has none."""
    return equal("answered", e.ending())


@TEST.check("budget/tokens-no-dispatch", "token-budget", "tokens-over")
def tokens_no_dispatch(e: Evidence) -> Finding:
    """A reply that took the run to 110 tokens against a budget of 100 dispatches nothing."""
    return equal({"model calls": 1, "tool runs": 0}, _done(e))


@TEST.check("budget/tokens-error", "budget-error", "tokens-over")
def tokens_error(e: Evidence) -> Finding:
    """The run ends with BudgetError: used 110, limit 100."""
    return equal({"error": "BudgetError", "used": 110, "limit": 100}, _budget_error(e))


@TEST.check("budget/tokens-summed", "token-budget-sums", "tokens-later")
def tokens_summed(e: Evidence) -> Finding:
    """Tokens are summed over the model calls: 60 and then 50 pass a budget of 100, so the second turn does not run."""
    return equal({"model calls": 2, "tool runs": 1, "ended": "budget"}, {**_done(e), "ended": e.ending()})


@TEST.check("budget/tokens-at-limit", "token-budget-at-limit", "tokens-at")
def tokens_at_limit(e: Evidence) -> Finding:
    """Tokens exactly at the budget: the turn is dispatched. Whether the model is then asked again is left open."""
    run = {"tool runs": 1, "ended": "budget"}
    return one_of({"tool runs": len(e.runs()), "ended": e.ending()}, run, run | {"ended": "answered"})


@TEST.check("budget/tokens-at-error", "budget-error", "tokens-at")
def tokens_at_error(e: Evidence) -> Finding:
    """Where a run that just meets its budget ends with BudgetError, used is 100, or 102 with the answer, limit 100."""
    error = {"error": "BudgetError", "used": 100, "limit": 100}
    return one_of(_budget_error(e), error, error | {"used": 102}, "answered")


@TEST.check("budget/tokens-under-limit", "token-budget", "tokens-under")
def tokens_under_limit(e: Evidence) -> Finding:
    """A run that stays under its token budget is not stopped, however many calls it makes."""
    expected = {"model calls": 3, "tool runs": 6, "ended": "answered"}
    return equal(expected, {**_done(e), "ended": e.ending()})


@TEST.check("budget/tokens-answer", "token-budget-answer", "tokens-answer")
def tokens_answer(e: Evidence) -> Finding:
    """A reply without calls that passes the token budget is the answer, or ends in BudgetError: nothing else."""
    answered = {"model calls": 1, "ended": "answered"}
    return one_of({"model calls": len(e.requests()), "ended": e.ending()}, answered, answered | {"ended": "budget"})


@TEST.check("budget/each-run", "budget-each-run", "calls-twice", "tokens-twice")
def each_run(e: Evidence) -> Finding:
    """A budget caps one run: the next run of the same agent starts from nothing."""
    return equal(["answered", "answered"], [e.ending(0), e.ending(1)])


@TEST.check("budget/transcript", "budget-transcript", "calls-over", "tokens-over")
def transcript(e: Evidence) -> Finding:
    """After a budget error no tool message stands in the transcript; the proposing turn may stand there or not."""
    kept = [*e.transcript(0), e.reply(0)]
    return one_of(e.shown(e.invocation().transcript), e.shown(kept), e.shown(e.transcript(0)))


@TEST.check("budget/usage", "usage-after-error", "calls-over", "tokens-over")
def usage(e: Evidence) -> Finding:
    """Usage counts the reply that was refused: its tokens are spent."""
    return equal(tokens(e.spent(1)), tokens(e.invocation().usage))


@TEST.check("budget/error-carries", "errors-carry-run", "calls-over", "tokens-over")
def error_carries(e: Evidence) -> Finding:
    """The error carries the refused reply as last message, and the usage so far."""
    failed = e.invocation().error
    last = failed.message if failed is not None else None
    seen = {"message": e.shown([last]) if last is not None else None, "usage": tokens(failed.usage if failed else None)}
    return equal({"message": e.shown([e.reply(0)]), "usage": tokens(e.spent(1))}, seen)
