"""What becomes of what a tool returns or raises."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Iterator
from decimal import Decimal

import pytest
from tests.reference.registering import Place, Query, Unit, Unprintable, answer_of, asynchronous, nested, raiser, run

from looptck.contract.ag03 import ToolCall, ToolResult
from looptck_reference.registry import Registry

# ------------------------------------------------------------------------------------------------------ what comes back


class Opaque:
    pass


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("as it is", "as it is"),
        ("", ""),
        ("half \ud800", "half \ufffd"),
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        ({"é": [1, None]}, '{"é":[1,null]}'),
        (Place(1, 2), '{"lat":1,"lon":2}'),
        (Query(words=["a"]), '{"words":["a"],"limit":10}'),
        (Unit.CELSIUS, '"C"'),
        ((dt.date(2026, 1, 31), Decimal("1.50")), '["2026-01-31","1.50"]'),
        ([float("nan"), float("inf")], '["NaN","Infinity"]'),
    ],
)
def test_a_returned_value_is_the_content_as_text_or_compact_json(value: object, content: str) -> None:
    assert answer_of(lambda: value) == ToolResult(content)


def test_a_result_passes_as_it_is() -> None:
    result = ToolResult("the tool says no", is_error=True)
    assert answer_of(lambda: result) is result


def test_what_a_generator_makes_is_a_list() -> None:
    def counts() -> Iterator[int]:
        yield from (1, 2)

    assert answer_of(counts) == ToolResult("[1,2]")


@pytest.mark.parametrize("value", [Opaque(), [Opaque()], b"\xff", ["\ud800"], nested(5_000), asynchronous])
def test_a_value_that_is_no_json_is_an_error_result(value: object) -> None:
    result = answer_of(lambda: value)
    assert result.is_error
    assert result.content.startswith(f"the tool returned a {type(value).__name__} that is not JSON: ")


# ------------------------------------------------------------------------------------------------------- what is raised


@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize(
    ("error", "content"),
    [
        (ValueError("no such city"), "ValueError: no such city"),
        (KeyError(), "KeyError"),
        (OSError("half \udcff"), "OSError: half \ufffd"),
        (Unprintable(), "Unprintable"),
        (SystemExit(3), "SystemExit: 3"),
        (BaseException("base"), "BaseException: base"),
        (TimeoutError(), "TimeoutError"),
        (asyncio.CancelledError("of its own accord"), "CancelledError: of its own accord"),
    ],
)
def test_whatever_a_tool_raises_is_an_error_result(error: BaseException, content: str, blocking: bool) -> None:  # noqa: FBT001
    assert answer_of(raiser(error, blocking=blocking)) == ToolResult(content, is_error=True)


def test_an_exception_that_no_future_can_carry_is_an_error_result() -> None:
    assert answer_of(raiser(StopIteration("end"), blocking=True)) == ToolResult("StopIteration: end", is_error=True)


def test_what_a_generator_raises_is_the_tools_own_error() -> None:
    def fails() -> Iterator[int]:
        yield 1
        raise ValueError("no more")

    assert answer_of(fails) == ToolResult("ValueError: no more", is_error=True)


@pytest.mark.parametrize("blocking", [True, False])
def test_a_keyboard_interrupt_is_nobodys_result(blocking: bool) -> None:  # noqa: FBT001
    with pytest.raises(KeyboardInterrupt):
        answer_of(raiser(KeyboardInterrupt(), blocking=blocking))


def test_closing_a_call_closes_the_tool() -> None:
    closed: list[type[BaseException]] = []

    async def waits() -> None:
        try:
            await asyncio.sleep(0)
        except BaseException as error:
            closed.append(type(error))
            raise

    async def main() -> None:
        pending = Registry([waits]).call(ToolCall("1", "waits", "{}"))
        pending.send(None)
        pending.close()

    run(main())
    assert closed == [GeneratorExit]
