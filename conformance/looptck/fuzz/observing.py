"""Observes one scenario after the other, as they are asked for: in one forked child for as long as it lasts, or here.

A fork and an import for each scenario would cost more than all the rest, so the child of `Observer` is given scenarios
through a pipe. It is a child like any other (`looptck.children`): one that dies, hangs or is left with a run that will
not end is replaced, and what became of it is the observation. `afresh` takes a new one on purpose, for a scenario that
must not depend on those before it.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from looptck import children, isolate
from looptck.children import Batch, Child, new_seal, observe_in_children
from looptck.isolate import fork_child, observe_safely, serve
from looptck.processes import CutOffError, write_all

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from looptck.profile import Profile

_SIZE = 8


class Observing(Protocol):
    """What observes a scenario when it is asked to."""

    def observe(self, scenario: Any) -> Any:
        """The observation of the scenario, where others may have been observed before."""
        ...

    def afresh(self, scenario: Any) -> Any:
        """The observation of the scenario in a process that has observed none; where there is such a thing."""
        ...

    def hurry(self, *, on: bool) -> None:
        """While it is on, a scenario that would use up its limit is given up soon."""
        ...


class Here:
    """Observes in this process: for debuggers and coverage, and a loop that ends the process ends the fuzzer."""

    def __init__(self, profile: Profile, load: Callable[[], Any], limit: float) -> None:
        self._profile, self._usual, self._adapter = profile, limit, load()
        self._limit = limit

    def observe(self, scenario: Any) -> Any:
        """See `Observing`."""
        return observe_safely(self._adapter, scenario, limit=self._limit, profile=self._profile)

    afresh = observe

    def hurry(self, *, on: bool) -> None:
        """See `Observing`."""
        self._limit = min(self._usual, HURRIED) if on else self._usual

    def close(self) -> None:
        """There is nothing to end."""


class _Asked(Sequence[Any]):
    """The scenarios of the child, as the parent and the machinery around it know them: those so far, and one to come.

    In the child a slice is a stream: it reads a scenario from the pipe whenever the next is asked for.
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.scenarios: list[Any] = []
        self.source: int | None = None

    def __len__(self) -> int:
        return len(self.scenarios) + 1

    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice) and self.source is not None:
            return self._stream(self.source)
        if isinstance(place, slice):
            return [*self.scenarios, None][place]
        return self.scenarios[place]

    def _stream(self, source: int) -> Iterator[Any]:
        while True:
            signal.setitimer(signal.ITIMER_REAL, 0)  # nothing runs while it waits: the alarm is for a scenario
            size = int.from_bytes(_read(source, _SIZE), "big")
            data = _read(source, size)
            if not data:
                return
            yield self.profile.scenario_from_json(data.decode())


class Observer:
    """Observes in a forked child that goes on to the next scenario. `limit` is in seconds of real time for each."""

    def __init__(self, profile: Profile, load: Callable[[], Any], limit: float) -> None:
        self._asked = _Asked(profile)
        self._batch = Batch(0, load, self._asked, profile)
        self._usual = self._limit = limit
        self._ending = _ENDING
        self._importing: float | None = None
        self._child: Child | None = None
        self._sink: int | None = None
        self._observing = self._in_children()

    def observe(self, scenario: Any) -> Any:
        """See `Observing`."""
        if len(self._asked.scenarios) >= _KEPT:
            self._renew()
        self._asked.scenarios.append(scenario)
        if self._child is not None and self._sink is not None:
            self._child.deadline = children.now() + self._limit + self._ending  # it has loaded the target
            with contextlib.suppress(BrokenPipeError):  # it is gone: the next is told anew
                _tell(self._sink, self._asked.profile, scenario)
        fresh, begun = self._child is None, children.now()
        _, _, observation = next(self._observing)
        if fresh and observation.died is None:  # how long the import takes is known now
            self._importing = children.now() - begun
        return observation

    def afresh(self, scenario: Any) -> Any:
        """See `Observing`."""
        self._renew()
        return self.observe(scenario)

    def hurry(self, *, on: bool) -> None:
        """See `Observing`. It holds from the next child on: what used up its limit has ended this one."""
        self._limit = min(self._usual, HURRIED) if on else self._usual
        self._ending = HURRIED if on else _ENDING

    def close(self) -> None:
        """End the child."""
        self._observing.close()
        self._forget()

    def _renew(self) -> None:
        self.close()
        self._asked.scenarios.clear()
        self._observing = self._in_children()

    def _in_children(self) -> Generator[tuple[Batch, int, Any]]:
        seconds = self._usual + isolate.GRACE
        return observe_in_children([self._batch], self._start, jobs=1, seconds=seconds)

    def _start(self, batch: Batch, place: int) -> Child:
        """A child, which is told what has been asked for and not been observed."""
        self._forget()
        source, self._sink = os.pipe()
        self._asked.source, sink = source, self._sink
        seal = new_seal()

        def serving(write: int) -> None:
            os.close(sink)
            serve(write, seal, batch, place, self._limit)

        try:
            fork = fork_child(serving)
        finally:
            os.close(source)
            self._asked.source = None
        self._child = Child(batch, place, *fork, seal, children.now() + self._limit + self._grace())
        for scenario in self._asked.scenarios[place:]:
            with contextlib.suppress(BrokenPipeError):  # it is gone already, which is seen where it is waited for
                _tell(sink, self._asked.profile, scenario)
        return self._child

    def _grace(self) -> float:
        """The time that a child has beyond the limit of its first scenario: what its import took, several times."""
        return isolate.GRACE if self._importing is None else min(isolate.GRACE, self._ending + 4 * self._importing)

    def _forget(self) -> None:
        self._child = None
        if self._sink is not None:
            os.close(self._sink)
        self._sink = None


HURRIED = 0.5
"""Seconds that a scenario has in a hurry, and beyond them a child to give it up: a correct run takes milliseconds, and
one that hangs is tried many times."""
_ENDING = 2.0
"""Seconds beyond its limit that a child has to give up a run by itself."""
_KEPT = 1_000
"""Scenarios that one child observes: what leaks in the target, or is kept here, does not grow without an end."""


def _tell(sink: int, profile: Profile, scenario: Any) -> None:
    data = profile.scenario_to_json(scenario).encode()
    write_all(sink, len(data).to_bytes(_SIZE, "big") + data)


def _read(source: int, size: int) -> bytes:
    """So many bytes; fewer only where the parent is gone. Raises `CutOffError` where the loop has closed the pipe."""
    data = b""
    try:
        while len(data) < size and (part := os.read(source, size - len(data))):
            data += part
    except OSError as error:
        raise CutOffError from error
    return data
