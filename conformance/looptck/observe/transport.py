"""The model over HTTP: for scenarios of that transport, the real provider talking to the fake server."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from looptck.observe.rig import Rig


@contextmanager
def transport(rig: Rig) -> Iterator[None]:
    yield
