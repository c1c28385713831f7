"""The standard streams: all three are there, and what standard output will not take is remembered instead of raised.

A report is worth more than the text beside it. So a full disk behind standard output, or none at all, ends nothing: the
rest of the work is done, files are written, and the end of the command tells of it.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO


class OutputError(Exception):
    """Standard output did not take what was written to it; the text is one line."""


class _Patient(io.FileIO):
    """A descriptor that takes everything. `failed` is the first error of the system; a reader that is gone raises."""

    failed: OSError | None = None

    def write(self, data: object, /) -> int:
        """Write, and go on where that fails."""
        try:
            return super().write(data)  # type: ignore[arg-type]
        except BrokenPipeError:
            raise
        except OSError as error:
            self.failed = self.failed or error
            return len(memoryview(data))  # type: ignore[arg-type]


def open_streams() -> None:
    """Open the standard streams that this process was started without, before their numbers go to anything else.

    What is written to those fails, as it would without them. The streams take any text, whatever their encoding.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDONLY), True)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False, encoding="utf-8")  # noqa: SIM115 - a descriptor, and open to the end
    sys.stdout, sys.stderr = _stream(1, sys.stdout), _stream(2, sys.stderr)


def _stream(number: int, before: TextIO | None) -> io.TextIOWrapper:
    raw = _Patient(number, "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        before.encoding if before is not None else "utf-8",
        "backslashreplace",
        line_buffering=number == 2 or raw.isatty(),  # noqa: PLR2004 - standard error
        write_through=getattr(before, "write_through", False),
    )


def all_written() -> None:
    """Write what is still held back. Raises `OutputError` where standard output has not taken everything."""
    sys.stdout.flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if isinstance(raw, _Patient) and raw.failed is not None:
        raise OutputError(f"standard output cannot be written: {raw.failed.strerror}")
