"""CPU per iteration of the reference loop beside a loop written by hand without any of its features.

Both are given an equally cheap model (one call a turn, usage each time) and one cheap tool, and take turns in one
process, round after round; the least of several rounds counts, since noise only adds. Whether an iteration grows with
the transcript is read inside single runs, from the times at which the model is asked.

Aims: without gate and tracer at most twice the floor; the last 50 of 500 iterations at most 1.15 times the first 50.
Exits with 1 beyond 3 times and 1.5 times, which no noise explains.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, TypeAlias

from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from rich.console import Console
from rich.table import Table

from looptck.contract.ag03 import (
    CallChunk,
    Chunk,
    Message,
    TextChunk,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Usage,
    UsageChunk,
)
from looptck_reference.loop import Agent

SIZES = (10, 100, 500)
"""Iterations of one run: so many turns with a call, then the answer."""
ROUNDS = 15
ITERATIONS_A_ROUND = 500
"""Short runs are repeated, so that each round of each size measures as many iterations."""
ENDS = 50
"""Iterations at either end of the longest run that are compared."""
PARALLEL = 4
AIM_RATIO, BOUND_RATIO = 2.0, 3.0
AIM_GROWTH, BOUND_GROWTH = 1.15, 1.5

ARGUMENTS = '{"city": "Paris"}'
ANSWER = "sunny, 21 C"
IN, OUT = 10, 5

Ask: TypeAlias = Callable[[list[dict[str, Any]]], Awaitable[dict[str, Any]]]
OneRun: TypeAlias = Callable[[int, list[float]], Awaitable[None]]


async def weather(city: str) -> str:
    """The tool of both sides."""
    return ANSWER if city else "where?"


# ------------------------------------------------------------------------------------------------------------ the floor


async def floor_loop(ask: Ask, tools: Mapping[str, Callable[..., Awaitable[str]]], cap: int) -> dict[str, Any]:
    """What one writes in ten minutes: dicts, gather, a semaphore, failures as text; no events, gate, steps or spans."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "What is the weather?"}]
    usage = {"input": 0, "output": 0}
    slots = asyncio.Semaphore(PARALLEL)

    async def run(call: dict[str, str]) -> dict[str, Any]:
        async with slots:
            try:
                content = await tools[call["name"]](**json.loads(call["arguments"]))
            except Exception as error:  # noqa: BLE001 - for the model to read
                content = f"error: {error}"
        return {"role": "tool", "tool_call_id": call["id"], "content": content}

    for _ in range(cap):
        reply = await ask(messages)
        usage["input"] += reply["usage"]["input"]
        usage["output"] += reply["usage"]["output"]
        messages.append({"role": "assistant", "content": reply["content"], "tool_calls": reply["tool_calls"]})
        if not reply["tool_calls"]:
            return {"content": reply["content"], "messages": messages, "usage": usage}
        messages.extend(await asyncio.gather(*(run(call) for call in reply["tool_calls"])))
    raise RuntimeError("the cap was reached")


async def floor(iterations: int, asked_at: list[float]) -> None:
    """One run of the floor."""

    async def ask(_messages: list[dict[str, Any]]) -> dict[str, Any]:
        asked_at.append(time.process_time())
        number = len(asked_at)
        usage = {"input": IN, "output": OUT}
        if number > iterations:
            return {"content": "It is sunny.", "tool_calls": [], "usage": usage}
        call = {"id": f"call_{number}", "name": "weather", "arguments": ARGUMENTS}
        return {"content": "", "tool_calls": [call], "usage": usage}

    ended = await floor_loop(ask, {"weather": weather}, iterations + 1)
    check(len(ended["messages"]), ended["usage"]["input"], iterations)


# -------------------------------------------------------------------------------------------------------- the reference


class Model:
    """A provider as cheap as the floor's: one chunk for the call, one for the usage."""

    model = "scripted"

    def __init__(self, iterations: int, asked_at: list[float]) -> None:
        self._iterations, self._asked_at = iterations, asked_at

    async def stream(
        self,
        messages: Sequence[Message],  # noqa: ARG002 - the seam
        tools: Sequence[ToolDefinition],  # noqa: ARG002 - the seam
        options: Mapping[str, Any],  # noqa: ARG002 - the seam
    ) -> AsyncIterator[Chunk]:
        """The next reply."""
        self._asked_at.append(time.process_time())
        number = len(self._asked_at)
        if number > self._iterations:
            yield TextChunk("It is sunny.")
        else:
            yield CallChunk(0, f"call_{number}", "weather", ARGUMENTS)
        yield UsageChunk(Usage(IN, OUT))


class OneTool:
    """A registry as cheap as the floor's: a table, and `json.loads`."""

    def __init__(self) -> None:
        self._tools = {"weather": weather}
        self._definitions = (ToolDefinition("weather"),)

    def definitions(self) -> Sequence[ToolDefinition]:
        """The one definition."""
        return self._definitions

    async def call(self, call: ToolCall) -> ToolResult:
        """Run it."""
        try:
            return ToolResult(await self._tools[call.name](**json.loads(call.arguments)))
        except Exception as error:  # noqa: BLE001 - for the model to read
            return ToolResult(f"error: {error}", is_error=True)


async def reference(iterations: int, asked_at: list[float], **options: Any) -> None:
    """One run of the reference loop."""
    agent = Agent(Model(iterations, asked_at), OneTool(), max_iter=iterations + 1, **options)
    stream = agent.invoke([Message("user", "What is the weather?")])
    await stream.result()
    check(len(stream.transcript()), stream.usage().input_tokens, iterations)


def traced() -> OneRun:
    """Runs of the reference loop with a tracer of the SDK that samples everything and exports nothing."""
    provider = TracerProvider(sampler=ALWAYS_ON, shutdown_on_exit=False)
    provider.add_span_processor(SpanProcessor())  # the base class: told of every span, keeps none
    tracer = provider.get_tracer("bench")
    return lambda iterations, asked_at: reference(iterations, asked_at, tracer=tracer)


# ------------------------------------------------------------------------------------------------------------ measuring


def check(messages: int, input_tokens: int, iterations: int) -> None:
    """A side that does not do the work is not measured."""
    expected = (2 * iterations + 2, IN * (iterations + 1))
    if (messages, input_tokens) != expected:
        raise RuntimeError(f"expected messages and tokens {expected}, there are {(messages, input_tokens)}")


@dataclass(slots=True)
class Measured:
    """What one side needed: seconds of CPU per iteration by the size of the run, and for each place in the longest."""

    per_iteration: dict[int, float] = field(default_factory=dict)
    by_place: list[float] = field(default_factory=lambda: [float("inf")] * SIZES[-1])

    def growth(self) -> float:
        """The median of the last iterations over that of the first."""
        return median(self.by_place[-ENDS:]) / median(self.by_place[:ENDS])


async def once(run: OneRun, iterations: int, measured: Measured) -> None:
    """One round of one side at one size."""
    repeats = ITERATIONS_A_ROUND // iterations
    marks: list[list[float]] = [[] for _ in range(repeats)]
    gc.collect()
    begun = time.process_time()
    for asked_at in marks:
        await run(iterations, asked_at)
    spent = (time.process_time() - begun) / (repeats * iterations)
    measured.per_iteration[iterations] = min(spent, measured.per_iteration.get(iterations, spent))
    if iterations == SIZES[-1]:
        for asked_at in marks:
            steps = [after - before for before, after in itertools.pairwise(asked_at)]
            measured.by_place = [min(pair) for pair in zip(measured.by_place, steps, strict=True)]


async def measure(sides: Mapping[str, OneRun]) -> dict[str, Measured]:
    """All sides at all sizes, one after the other, round after round; a first round only warms up."""
    for run in sides.values():
        await once(run, SIZES[1], Measured())
    measured = {name: Measured() for name in sides}
    for _ in range(ROUNDS):
        for iterations in SIZES:
            for name, run in sides.items():
                await once(run, iterations, measured[name])
    return measured


# ------------------------------------------------------------------------------------------------------------ reporting


def show(console: Console, measured: Mapping[str, Measured]) -> None:
    """The table: µs of CPU per iteration, and how many times the floor that is."""
    table = Table(title=f"CPU per iteration, least of {ROUNDS} rounds", title_justify="left")
    table.add_column("loop")
    for heading in (*(f"{size} iterations" for size in SIZES), f"last {ENDS} / first {ENDS}"):
        table.add_column(heading, justify="right")
    base = measured["floor"].per_iteration
    for name, side in measured.items():
        cells = [f"{side.per_iteration[n] * 1e6:.1f} µs ({side.per_iteration[n] / base[n]:.2f}x)" for n in SIZES]
        table.add_row(name, *cells, f"{side.growth():.2f}")
    console.print(table)


def judge(console: Console, what: str, seen: float, aim: float, bound: float) -> bool:
    """One line that compares a ratio with its aim; False where it is beyond the bound."""
    word = "within the aim" if seen <= aim else "misses the aim" if seen <= bound else "beyond the bound"
    console.print(f"{what}: {seen:.2f} {word} (aim {aim}, bound {bound})", highlight=False)
    return seen <= bound


def main() -> int:
    """Measure, print, compare with the bounds."""
    console = Console(width=110)
    sides: dict[str, OneRun] = {"floor": floor, "reference": reference, "reference, traced": traced()}
    measured = asyncio.run(measure(sides))
    show(console, measured)
    plain, base = measured["reference"], measured["floor"].per_iteration
    held = [
        judge(console, f"reference / floor, {n} iterations", plain.per_iteration[n] / base[n], AIM_RATIO, BOUND_RATIO)
        for n in SIZES
    ]
    held.append(judge(console, "growth of the reference", plain.growth(), AIM_GROWTH, BOUND_GROWTH))
    held.append(
        judge(console, "growth with a tracer", measured["reference, traced"].growth(), AIM_GROWTH, BOUND_GROWTH)
    )
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
