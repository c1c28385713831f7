"""What a run of ag03 has to be, predicted from its scenario alone: sections 2.1 to 2.6 of the specification as code.

It reads from the top: `_Run.loop` is section 2.1, and each method below it is one of the rules that section 2 builds
into the loop. Where the specification is silent, `readings` is asked by the id of the requirement record that lists the
alternatives. It is given plain data and knows the contract alone: no loop, no fake, no observation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NoReturn

from looptck.contract.ag03 import DEFAULT_MAX_ITER, Message, Usage, llm_step, tool_step
from looptck.open_turn import open_turn
from looptck.oracle.lines import answer, numbers, parts, unfit
from looptck.oracle.predicted import Ask, Line, Planned, Predicted, Round, early_usage, final_usage, reported_twice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from looptck.oracle.predicted import Ending
    from looptck.oracle.readings import Readings
    from looptck.scenario import Call, Invocation, Scenario, Turn

_DENIED_COUNT = "invalid-arguments-answered denied"


class _Ended(Exception):  # noqa: N818 - the end of a run is no error
    """The run is over."""


def predict(
    scenario: Scenario,
    place: int,
    given: Sequence[Line],
    journal: Mapping[str, Turn | None],
    readings: Readings,
) -> Predicted:
    """The run of invocation `place` under one way of reading what is open.

    `given` is its input: the messages of the scenario, after the transcript that it continues. `journal` is that of the
    invocation before, for one that is replayed.
    """
    return _Run(scenario, place, given, journal, readings).loop()


class _Run:
    """One run in the making: `lines` are the messages M_t, `made` are the calls that count against their budget.

    `freed` maps the markers that have freed a call to the number of the turn in which they did so first.
    """

    def __init__(
        self,
        scenario: Scenario,
        place: int,
        given: Sequence[Line],
        journal: Mapping[str, Turn | None],
        readings: Readings,
    ) -> None:
        self.options, self.gate = scenario.options, scenario.gate
        self.invocation: Invocation = scenario.invocations[place]
        self.replay = dict(journal) if self.invocation.runner == "replay" else None
        self.known = {call.call(): call for call in scenario.calls()}
        self.readings = readings
        self.script = iter(self.invocation.turns)
        self.given = given
        self.lines = [*self._system(given), *given]
        self.predicted = Predicted(replayed=self.replay is not None)
        self.spent, self.made, self.number = Usage(), 0, 0
        self.freed: dict[str, int] = {}
        self.max_iter = self._limit(self.options.max_iter, "max_iter")
        self.max_tokens = self._limit(self.options.max_tokens, "max_tokens")
        self.max_tool_calls = self._limit(self.options.max_tool_calls, "max_tool_calls")

    def _system(self, given: Sequence[Line]) -> list[Line]:
        """The system prompt comes first, unless there is none or the input starts with one."""
        leads = bool(given) and given[0].message.role == "system"
        return [] if leads or not self.options.system else [Line(Message("system", self.options.system))]

    def _limit(self, limit: int | None, name: str) -> int | None:
        return self.readings.of(f"limit-zero {name}", 0, None) if limit == 0 else limit

    # 2.1 the loop

    def loop(self) -> Predicted:
        """The run ends at the first reply without calls, or where a rule says so."""
        try:
            self._resume()
            while True:
                self._may_ask()
                turn = self._ask()
                if not turn.calls:
                    self._answer(turn)
                self._act(tuple(enumerate(turn.calls)), resumed=False)
        except _Ended:
            return self.predicted

    def _ask(self) -> Turn:
        """A model step: the reply joins the messages, and its usage the sum."""
        self.number += 1
        round_ = self._begin()
        name = llm_step(self.number)
        if name in self.invocation.refuse and self.invocation.runner == "refuse":
            round_.ask = Ask(tuple(self.lines), None, "refused")
            self._end("step")
        if self.replay is not None and name not in self.replay:
            round_.ask = Ask(tuple(self.lines), None, "refused")
            self._end("step")
        turn = self.replay[name] if self.replay is not None else next(self.script, None)
        round_.ask = Ask(tuple(self.lines), turn, "asked" if self.replay is None else "replayed")
        if turn is None or turn.error is not None:
            self._failed(turn)
        if reported_twice(turn) and self.max_tokens is not None:
            self.predicted.doubt("usage-last-report-counts")
        self.predicted.model_calls += 1
        self.predicted.journal[name] = turn
        self.spent += final_usage(turn)
        self.predicted.last = turn.message()
        self.lines.append(Line(turn.message()))
        return turn

    def _answer(self, turn: Turn) -> NoReturn:
        """A reply without calls is the answer; past the token budget it may be refused."""
        if self._tokens_passed() and self.readings.of("token-budget-answer", "answer", "error") == "error":
            self._over("tokens")
        self.predicted.answer = turn.message()
        self._end("answered")

    def _failed(self, turn: Turn | None) -> NoReturn:
        """A provider's error: nothing of the reply is kept, or what had arrived of it; what it cost is open too."""
        kept = parts(turn)
        costs = {Usage()} if turn is None else {Usage(), final_usage(turn), early_usage(turn)}
        self._end(
            "provider",
            transcripts=(tuple(self.lines), *((*self.lines, Line(part)) for part in kept)),
            usages=tuple(self.spent + cost for cost in sorted(costs, key=lambda usage: usage.total)),
        )

    # 2.2 and 2.4, what is looked at before a model call

    def _may_ask(self) -> None:
        """The cap, and the token budget: whether tokens that exactly meet it allow another call is open."""
        stops: list[Ending] = []
        if self.predicted.model_calls >= (DEFAULT_MAX_ITER if self.max_iter is None else self.max_iter):
            stops.append("max_iter")
        if self.spent.total == self.max_tokens and (
            stops or self.readings.of("token-budget-at-limit", "error", "ask") == "error"
        ):
            stops.append("tokens")
        if stops:
            self._over(self.readings.of("limits-together", *stops) if len(stops) > 1 else stops[0])

    def _tokens_passed(self) -> bool:
        return self.max_tokens is not None and self.spent.total > self.max_tokens

    # 2.3 to 2.6, a turn

    def _act(self, calls: tuple[tuple[int, Call], ...], *, resumed: bool) -> None:
        """What may forbid the turn comes first, then its calls, then their answers in call order."""
        round_ = self._begin() if resumed else self.predicted.rounds[-1]
        round_.proposed = calls
        if len({call.id for _, call in calls}) < len(calls):
            self.predicted.doubt("duplicate-ids")
        if any(unfit(call) for _, call in calls):
            self.predicted.doubt("arguments-verbatim")
        own = self._own(calls)
        uncounted = self._uncounted(own)
        counting = self._counting(uncounted)
        free = self._free(calls, uncounted, counting)
        stops: list[Ending] = ["tokens"] if self._tokens_passed() else []
        proposed = len(calls) - (0 if counting == "checked" else len(free))
        if counting != "run" and self._too_many(proposed):
            stops.append("tool_calls")
        if stops and not self._gate_first(stops):
            self._stop(stops, proposed)
        planned = self._judge(round_, own, resumed=resumed)
        runs = sum(one.fate == "runs" or (one.fate == "invalid" and one.index not in free) for one in planned)
        count = proposed if counting == "proposed" else runs
        if counting == "run" and self._too_many(count):
            stops.append("tool_calls")
        if stops:
            self._stop(stops, count if counting == "run" else proposed)
        self.made += count
        self._dispatch(round_, planned)

    def _own(self, calls: Iterable[tuple[int, Call]]) -> frozenset[int]:
        """The places of the calls that the loop itself answers where they may run; which they are is open."""
        kinds = {place: kind for place, call in calls if (kind := unfit(call))}
        return frozenset(
            place
            for place, kind in kinds.items()
            if self.readings.of(f"invalid-arguments-go-on {kind}", "tools", "loop") == "loop"
        )

    def _uncounted(self, own: frozenset[int]) -> frozenset[int]:
        """Those that the loop answers itself, where these do not count."""
        limited = self.max_tool_calls is not None
        uncounted = own and limited and self.readings.of("invalid-arguments-answered counts", "yes", "no") == "no"
        return own if uncounted else frozenset()

    def _free(self, calls: Iterable[tuple[int, Call]], out: frozenset[int], counting: str) -> frozenset[int]:
        """Those of `out` that do not count; whoever asks the gate first may count the denied ones like any other."""
        denied = self._denied(calls) & out if counting == "proposed" else frozenset()
        return out - denied if denied and self.readings.of(_DENIED_COUNT, "no", "yes") == "yes" else out

    def _denied(self, calls: Iterable[tuple[int, Call]]) -> frozenset[int]:
        return frozenset(place for place, call in calls if self.gate and call.verdict in {"deny", "raise"})

    def _gate_first(self, stops: Sequence[Ending]) -> bool:
        if not self.gate:
            return False
        if "tokens" not in stops and self.readings.chosen.get(_DENIED_COUNT) == "yes":
            return True  # else it could not tell which they are
        return self.readings.of("gate-and-budget-order", "budget", "gate") == "gate"

    def _counting(self, uncounted: frozenset[int]) -> str:
        """Whether calls count that are denied or `uncounted`; `checked` ones do not, and yet need room."""
        denied = self.gate and any(call.verdict != "allow" for turn in self.invocation.turns for call in turn.calls)
        denied = denied or (self.gate and any(line.message.tool_calls for line in self.lines))
        some = bool(uncounted or denied)
        return self.readings.of("denied-calls-in-budget", "proposed", "run", "checked") if some else "proposed"

    def _too_many(self, calls: int) -> bool:
        return self.max_tool_calls is not None and self.made + calls > self.max_tool_calls

    def _stop(self, stops: list[Ending], calls: int) -> NoReturn:
        stop = self.readings.of("limits-together", *stops) if len(stops) > 1 else stops[0]
        self._over(stop, calls)

    def _judge(self, round_: Round, own: frozenset[int], *, resumed: bool) -> tuple[Planned, ...]:
        """The gate is asked about every call before any runs; one that waits keeps the whole turn from running."""
        if self.gate:
            round_.asked, round_.tainted = "all", any(line.message.role == "tool" for line in self.lines)
            round_.tainted_by_input = any(line.message.role == "tool" for line in self.given)
        fates = [self._verdict(round_, call, resumed=resumed) if self.gate else "runs" for _, call in round_.proposed]
        planned = tuple(
            Planned(place, call, "invalid" if fate == "runs" and place in own else fate)
            for (place, call), fate in zip(round_.proposed, fates, strict=True)
        )
        if any(one.fate == "waits" for one in planned):
            round_.planned = tuple(
                Planned(one.index, one.call, "held back") if one.fate in {"runs", "invalid"} else one for one in planned
            )
            self.predicted.pending = tuple(one.call for one in planned if one.fate == "waits")
            self._end("approval")
        return planned

    def _verdict(self, round_: Round, call: Call, *, resumed: bool) -> Literal["runs", "denied", "waits"]:
        if call.verdict == "raise":
            self.predicted.doubt("gate-raises")
            if self.readings.of("gate-raises", "ends", "denied") == "ends":
                round_.asked = "some"
                self._end("gate", transcripts=self._with_and_without_reply(), usages=(self.spent,))
            return "denied"
        if call.verdict == "need_approval":
            return "runs" if self._approved(call.marker, resumed=resumed) else "waits"
        return "denied" if call.verdict == "deny" else "runs"

    def _approved(self, marker: str, *, resumed: bool) -> bool:
        """Which calls an approved marker frees beside the one that it was given for is open."""
        if marker not in (self.invocation.approvals or ()):
            return False
        turn, earlier = len(self.predicted.rounds), self.freed.get(marker)
        self.freed.setdefault(marker, turn)
        if resumed and earlier is None:
            return True
        scope = self.readings.of("approval-scope", "run", "resumed", "call", "turn")
        return {"run": True, "resumed": resumed, "call": earlier is None, "turn": earlier in {None, turn}}[scope]

    def _dispatch(self, round_: Round, planned: tuple[Planned, ...]) -> None:
        """The calls that may run do, each as a step; a step that the runner refuses ends the run."""
        round_.planned, round_.dispatched, round_.replayed = planned, True, self.replay is not None
        if any(one.call.raises is not None for one in planned if one.fate == "runs"):
            self.predicted.doubt("tool-raise-is-result")
        names = self._steps(planned, "runs")
        if self.invocation.runner == "refuse":
            refuse = self.invocation.refuse
            denied, invalid = self._steps(planned, "denied"), self._steps(planned, "invalid")
            if set(denied.values()) & set(refuse) and self.readings.of("step-index-in-turn", "none", "step") == "step":
                names |= denied
            if set(invalid.values()) & set(refuse) and (
                self.readings.of("invalid-arguments-answered step", "step", "none") == "step"
            ):
                names |= invalid
            round_.refused = frozenset(index for index, name in names.items() if name in refuse)
        if self.replay is not None:
            round_.refused = frozenset(index for index, name in names.items() if name not in self.replay)
        if round_.refused:
            self._end("step", transcripts=self._with_and_without_reply(), usages=(self.spent,))
        self.predicted.journal |= dict.fromkeys(names.values())
        self.lines += [answer(one) for one in planned]

    def _steps(self, planned: Sequence[Planned], fate: str) -> dict[int, str]:
        """The names that the steps of the calls of one fate have, by their places."""
        return {one.index: tool_step(self.number, one.index, one.call.name) for one in planned if one.fate == fate}

    # 2.5, resuming

    def _resume(self) -> None:
        """An unanswered turn at the end of the input is dispatched before the model is asked."""
        if not self.given and self.readings.of("input-without-messages", "ask", "refuse") == "refuse":
            self._refuse("input")
        turn = open_turn([line.message for line in self.lines])
        if turn is None:
            self.number = self._iterations_behind()
            return
        message, places = turn
        self.predicted.last = message
        if len({call.id for call in message.tool_calls}) < len(message.tool_calls):
            self.predicted.doubt("duplicate-ids")
        if len(places) < len(message.tool_calls):
            what = self.readings.of("partly-answered-turn", "dispatch", "ask", "refuse")
            if what == "refuse":
                self._refuse("turn")
            if what == "ask":
                self.number = self._iterations_behind()
                return
            self.made = self._answered(message, places)
        self.number = self.readings.of("resumed-turn-number", *numbers(self.lines, 1, 0))
        self._act(tuple((index, self.known[message.tool_calls[index]]) for index in places), resumed=True)
        self.number -= self.readings.of("resumed-turn-number behind", 0, 1)

    def _refuse(self, what: Literal["input", "turn"]) -> NoReturn:
        """A run that refuses its input before anything happens may have no more of a transcript than that, or none."""
        self._end(what, transcripts=(tuple(self.lines), tuple(self.given), ()), usages=(Usage(),))

    def _answered(self, message: Message, places: Sequence[int]) -> int:
        """How many answered calls of an open turn count against the budget: none, all, or those that would if open."""
        if self.max_tool_calls is None:
            return 0
        answered = [(n, self.known[call]) for n, call in enumerate(message.tool_calls) if n not in places]
        out = self._uncounted(self._own(answered))
        counting = self._counting(out)
        out = self._free(answered, out, counting)
        out |= frozenset() if counting == "proposed" else self._denied(answered)
        counts = dict.fromkeys((0, len(answered), len(answered) - len(out)))
        return self.readings.of("partly-answered-turn counts", *counts)

    def _iterations_behind(self) -> int:
        """How iterations are numbered behind an input with answered turns is open."""
        if not any(line.message.role == "assistant" for line in self.lines):
            return 0
        return self.readings.of("iterations-behind-answered-turns", *numbers(self.lines, 0))

    # how it ends

    def _begin(self) -> Round:
        self.predicted.rounds.append(Round(self.number))
        return self.predicted.rounds[-1]

    def _over(self, stop: Ending, calls: int = 0) -> NoReturn:
        """A limit ends the run: with the refused turn in the transcript or without, its tokens spent."""
        if stop == "tokens":
            self.predicted.used, self.predicted.limit = (self.spent.total,), self.max_tokens or 0
        if stop == "tool_calls":
            self.predicted.used, self.predicted.limit = (self.made + calls, self.made), self.max_tool_calls or 0
        self._end(stop, transcripts=self._with_and_without_reply())

    def _with_and_without_reply(self) -> tuple[tuple[Line, ...], ...]:
        """Where a rule refuses what a reply asks for, the reply may be kept; the turn of a resumed run is input."""
        refused = self.predicted.rounds and self.predicted.rounds[-1].ask and self.lines[-1].message.role == "assistant"
        return (tuple(self.lines), tuple(self.lines[:-1])) if refused else (tuple(self.lines),)

    def _end(
        self,
        ending: Ending,
        transcripts: tuple[tuple[Line, ...], ...] | None = None,
        usages: tuple[Usage, ...] | None = None,
    ) -> NoReturn:
        self.predicted.ending, self.predicted.number = ending, self.number
        self.predicted.transcripts = transcripts or (tuple(self.lines),)
        self.predicted.usages = usages or (self.spent,)
        raise _Ended
