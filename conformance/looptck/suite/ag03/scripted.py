"""Whether a run ended with an error of the scenario's own, told in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looptck.suite.model import equal

if TYPE_CHECKING:
    from looptck.suite.evidence import Evidence
    from looptck.suite.model import Finding


def ended_by(e: Evidence, error: str, place: int = 0) -> Finding:
    """Passes where an invocation ended with the scenario's own error, or one that has it as its cause.

    `error` names the scenario's: `the runner's error`. Another that came instead is told with its text.
    """
    raised = e.invocation(place).error
    expected = f"it ends with {error}, or an error that has it as its cause"
    if raised is not None and raised.scripted != "no":
        return equal(expected, expected)
    if raised is not None and raised.kind == "script_exhausted":
        return equal(expected, "it goes on and asks the model beyond the end of the script")
    return equal(expected, f"it ends otherwise: {raised.text if raised is not None else e.ending(place)}")
