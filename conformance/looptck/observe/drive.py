"""Runs one scenario against one loop in this process: invokes, watches, releases held tools, cancels, records.

The watch rests on quiescence (see `looptck.observe.quiescence`): held tools are let go one at a time, each only when
nothing more can happen, and a run that can do nothing more and has no result is unfinished. No timing decides.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from looptck.adapter import Outcome, Run
from looptck.observation import EventSeen, InvocationSeen, Observation, Status
from looptck.observe import normal
from looptck.observe.quiescence import LATE, QuiescentLoop, strangers
from looptck.observe.rig import Rig, key_of
from looptck.observe.transport import transport
from looptck.observe.watchdog import Watchdog
from looptck_fakes import ToolEnded, ToolStarted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from looptck.adapter import Adapter
    from looptck.contract.ag03 import Message
    from looptck.observe.quiescence import Certainty
    from looptck.scenario import Invocation, Scenario

LIMIT = 10.0
"""Seconds of real time for one scenario; far more than any correct loop needs."""
SHORT, LONG = 0.004, 1.0
"""Seconds of uncertain quiescence: before an upper bound is judged, and before something is held not to happen."""


def observe_here(adapter: Adapter, scenario: Scenario, *, limit: float = LIMIT) -> Observation:
    """Observe in this process. `limit` is in seconds; a loop that never yields to its event loop outlasts it.

    Raises `NoInterfaceError` where the loop offers nothing to invoke.
    """
    loop = QuiescentLoop(strangers())
    rig = Rig(scenario)
    try:
        asyncio.set_event_loop(loop)
        with transport(rig):
            return loop.run_until_complete(_Drive(loop, rig, adapter, limit).observe())
    except RuntimeError as error:
        if not str(error).startswith("Event loop stopped"):
            raise
        return Observation(scenario.name, died="the loop stopped the event loop that it was run on", blame="loop")
    finally:
        asyncio.set_event_loop(None)
        _close(loop)


class _Drive:
    """One observation in the making."""

    def __init__(self, loop: QuiescentLoop, rig: Rig, adapter: Adapter, limit: float) -> None:
        self.loop, self.rig, self.adapter = loop, rig, adapter
        self.deadline = time.monotonic() + limit
        self.seen: dict[int, InvocationSeen] = {}
        self.levels: list[int] = []
        self.certainty: Certainty = "certain"
        self.agents: dict[int, Any] = {}
        self.events: dict[int, list[EventSeen]] = {}
        self.own: set[asyncio.Task[Any]] = set()
        self.stuck: Status | None = None

    async def observe(self) -> Observation:
        """Make the invocations, one group of simultaneous ones after the other."""
        for group in _groups(self.rig.scenario):
            await self._run_group(group)
            if self.stuck is not None:
                break
        leftovers = await self._leftovers()
        self.rig.tool_stage.open()
        self.rig.model_stage.open()
        if leftovers and self.stuck is None:  # what a run that was left behind still does is part of the observation
            await self._quiet(SHORT)
        return Observation(
            scenario=self.rig.scenario.name,
            records=tuple(normal.record(record) for record in self.rig.recorder.records),
            invocations=tuple(self.seen[place] for place in sorted(self.seen)),
            spans=self.rig.spans.seen() if self.rig.spans is not None else (),
            levels=tuple(self.levels),
            http=tuple(normal.plain(body) for body in self.rig.http_requests()),
            leftovers=leftovers,
            settled_by=self.certainty,
        )

    async def _run_group(self, group: list[int]) -> None:
        self.rig.begin(group)
        tasks = {place: self.loop.create_task(self._invoke(place), name=f"looptck-{place}") for place in group}
        self.own |= set(tasks.values())
        with self._watchdog():
            await self._watch(group, tasks)
        for task in tasks.values():
            if task.done():
                task.result()  # a fault of the kit, or NoInterfaceError: not an observation

    async def _invoke(self, place: int) -> None:
        """One invocation, from input to what is left of it."""
        invocation = self.rig.scenario.invocations[place]
        given = self.rig.given[place] = self._input(invocation)
        events = self.events[place] = []
        run = Run(
            options=self.rig.options(place),
            messages=list(given),
            read=invocation.read,
            on_event=lambda event: events.append(normal.event(event)),
            agents=self.agents,
            agent_key=self._agent_key(place),
            result_twice=invocation.result_twice,
        )
        began = len(self.rig.recorder)
        outcome = await self.adapter.run(run)
        ended = len(self.rig.recorder)
        in_flight = len(self.rig.recorder.of(ToolStarted)) - len(self.rig.recorder.of(ToolEnded))
        if (runner := self.rig.stopping()) is not None:
            runner.stop()
            self.seen[place] = InvocationSeen("stopped", began, ended, given)
            return
        self.seen[place] = self._record(outcome, given, run, (began, ended, in_flight), tuple(events))

    def _record(
        self,
        outcome: Outcome,
        given: tuple[Message, ...],
        run: Run,
        marks: tuple[int, int, int],
        events: tuple[EventSeen, ...],
    ) -> InvocationSeen:
        status: Status = "answered" if outcome.error is None else "failed"
        if (
            self.stuck is not None and outcome.again is None
        ):  # what a run gives back when the kit gives it up is no answer
            status, outcome.message = self.stuck, None
        elif isinstance(outcome.error, asyncio.CancelledError):
            status = "cancelled"
        return InvocationSeen(
            status=status,
            began=marks[0],
            ended=marks[1],
            input=given,
            message=None if outcome.message is None else normal.message(outcome.message),
            error=None if outcome.error is None else normal.error(outcome.error, tuple(self.rig.scripted)),
            transcript=None if outcome.transcript is None else normal.messages(outcome.transcript),
            usage=normal.usage(outcome.usage),
            events=events,
            events_ended=outcome.events_ended,
            input_untouched=[id(message) for message in run.messages] == [id(message) for message in given],
            again=None if outcome.again is None else normal.text(outcome.again),
            in_flight_at_end=marks[2],
            problems=tuple(normal.text(problem) for problem in outcome.problems),
        )

    def _input(self, invocation: Invocation) -> tuple[Message, ...]:
        before: tuple[Message, ...] = ()
        if invocation.continues is not None:
            earlier = self.seen.get(invocation.continues)
            before = (earlier.transcript if earlier is not None else None) or ()
        return (*before, *(said.message() for said in invocation.messages))

    def _agent_key(self, place: int) -> int:
        invocations = self.rig.scenario.invocations
        while invocations[place].reuse_agent or invocations[place].alongside:
            place -= 1
        return place

    async def _watch(self, group: list[int], tasks: dict[int, asyncio.Task[None]]) -> None:
        """Wait until every invocation of the group is over, acting each time nothing more can happen by itself."""
        cancelled = ended = False
        pending = set(tasks.values())
        while pending:
            quiet = self.loop.quiet(self._patience, lambda: len(self.rig.recorder), self.deadline, self._proof)
            awaited: set[asyncio.Future[Any]] = {*pending, quiet}
            await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
            self.loop.waiter = None
            pending = {task for task in pending if not task.done()}
            if not pending or not quiet.done():
                continue
            certainty = quiet.result()
            timed_out = certainty == LATE
            if certainty != LATE:
                self._note(certainty)
            wants = next((self.rig.scenario.invocations[place].cancel for place in group), "never")
            if wants != "never" and not cancelled and not timed_out and self._reached(wants):
                cancelled = True
                self._cancel(pending)
            elif timed_out or not self._release():
                if not timed_out and self.rig.stopping():
                    if ended:
                        return self._abandon(tasks, "stopped")
                    ended = self._end_stopped(pending)
                    continue
                if self.stuck is not None:
                    return self._abandon(tasks, self.stuck)
                self.stuck = "timeout" if timed_out else "unfinished"
                self.deadline = time.monotonic() + LONG
                self._cancel(pending)
        return None

    @contextmanager
    def _watchdog(self) -> Iterator[None]:
        """Where tools are held, somebody who lets them go on although the loop under test blocks the event loop."""
        if not self.rig.holds_tools:
            yield
            return
        before = self.loop.strangers
        with Watchdog(lambda: self.loop.turns, self._patience, self._release, before) as watchdog:
            self.loop.strangers = before | {watchdog.native_id}
            yield
        self.loop.strangers = before

    def _patience(self) -> float:
        """A short window once as much is held as a correct loop holds; a long one to conclude that no more comes.

        A run that is to be stopped, or has been, is concluded nothing from.
        """
        held = len(self.rig.tool_stage.held)
        if (held and held >= self.rig.target_in_flight()) or self.rig.stopping():
            return SHORT
        return SHORT if self.rig.model_stage.held else LONG

    def _proof(self) -> bool:
        """Where nothing is held, the run would be given up: that takes a proof that nothing more can happen."""
        return not (self.rig.tool_stage.held or self.rig.model_stage.held or self.rig.stopping())

    def _note(self, certainty: Certainty) -> None:
        """What the observation rests on is the least certain of what it rests on anywhere."""
        order: tuple[Certainty, ...] = ("certain", "threads", "window")
        self.certainty = max(self.certainty, certainty, key=order.index)

    def _reached(self, wants: str) -> bool:
        return bool(self.rig.tool_stage.held if wants == "tools" else self.rig.model_stage.held)

    def _release(self) -> bool:
        """Let one who is held go on; False when nobody is held."""
        held = self.rig.tool_stage.held
        if held:
            self.levels.append(len(held))
            if self._patience() == LONG:
                self.rig.conclude()
            order = {key_of(call.call()): number for number, call in enumerate(self.rig.scenario.calls())}
            by_call = sorted(held, key=lambda item: order.get(key_of(normal.call(item.key)), -1))
            self.rig.tool_stage.release(by_call[-1 if self.rig.scenario.finish == "last" else 0])
            return True
        for item in self.rig.model_stage.held:
            self.rig.model_stage.release(item)
            return True
        return False

    def _cancel(self, tasks: set[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()

    def _end_stopped(self, tasks: set[asyncio.Task[None]]) -> bool:
        """Stop the run that waits for it, or cancel the one that was stopped and goes on waiting; True for the latter.

        A loop that makes its calls one by one never comes to a step that overtakes another.
        """
        runner = self.rig.stopping()
        if runner is not None and not runner.stopped:
            runner.stop()
            return False
        self._cancel(tasks)
        return True

    def _abandon(self, tasks: dict[int, asyncio.Task[None]], status: Status) -> None:
        """Record what would not even be cancelled."""
        at = len(self.rig.recorder)
        for place, task in tasks.items():
            if not task.done():
                self.seen[place] = InvocationSeen(status, at, at, (), events=tuple(self.events.get(place, ())))

    async def _quiet(self, patience: float) -> None:
        await asyncio.wait([self.loop.quiet(lambda: patience, lambda: len(self.rig.recorder), time.monotonic() + LONG)])

    async def _leftovers(self) -> tuple[str, ...]:
        """Names of the tasks that outlive the run, once nothing more happens by itself."""
        mine = {asyncio.current_task(), *self.own}
        rest = [task for task in asyncio.all_tasks() if task not in mine]
        if rest and self.stuck is None:
            await self._quiet(SHORT)
        return tuple(sorted(normal.text(_coroutine_name(task)) for task in rest if not task.done()))


def _coroutine_name(task: asyncio.Task[Any]) -> str:
    return str(getattr(task.get_coro(), "__qualname__", task.get_name()))


def _groups(scenario: Scenario) -> Iterator[list[int]]:
    """The invocations that run at once, by their places."""
    group: list[int] = []
    for place, invocation in enumerate(scenario.invocations):
        if group and not invocation.alongside:
            yield group
            group = []
        group.append(place)
    yield group


def _close(loop: QuiescentLoop) -> None:
    """End what is left without waiting for anybody who refuses to end."""
    tasks = [task for task in asyncio.all_tasks(loop) if not task.done()]
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks, timeout=SHORT))
        loop.set_exception_handler(lambda _loop, _context: None)  # their last words are of no interest
    if getattr(loop, "_asyncgens", True):  # asyncio's own set of iterators that are not closed
        loop.run_until_complete(_close_generators(loop))
    executor = getattr(loop, "_default_executor", None)
    if executor is not None:
        executor.shutdown(wait=False, cancel_futures=True)
    loop.close()


async def _close_generators(loop: QuiescentLoop) -> None:
    try:
        await asyncio.wait_for(loop.shutdown_asyncgens(), LONG)
    except (TimeoutError, Exception):  # noqa: BLE001 - an iterator of the loop's that will not close is its own affair
        return
