"""Steps for the durable runner of the examples."""

from __future__ import annotations

import asyncio
from typing import Any

from looptck.contract.ag03 import StepRunner


async def nobody() -> Any:
    raise AssertionError("nobody may do this work again")


def returning(value: object) -> Any:
    async def work() -> object:
        return value

    return work


def run(journal: StepRunner, name: str, kind: Any, work: Any) -> Any:
    return asyncio.run(journal.run(name, kind, work))
