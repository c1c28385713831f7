"""The entry of the command `looptck`, and of `python -m looptck`: runs the command line and returns its exit code."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line; see `looptck.cli.run` for the exit codes."""
    from looptck.cli import run  # noqa: PLC0415 - a failing import is a fault of the kit, and answered as one
    from looptck.cli.streams import open_streams  # noqa: PLC0415 - likewise

    open_streams()
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
