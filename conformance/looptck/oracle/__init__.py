"""The oracle: what a run has to be, predicted from its scenario alone, and how an observation differs from that.

`ag03` and `lesson4` are the specifications as code; they import the contract and nothing that is judged. The other
modules hold an observation beside what they predict. A prediction is closed: whatever is more than predicted is a
difference too. Everything here is pure.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from looptck.oracle.difference import Difference

if TYPE_CHECKING:
    from looptck.profile import Profile

__all__ = ["Difference", "differences", "unpredicted"]


def unpredicted(profile: Profile, scenario: Any) -> str | None:
    """Why a scenario cannot be predicted, in one line; None for one that can."""
    why: str | None = _of(profile).unpredicted(scenario)
    return why


def differences(profile: Profile, scenario: Any, observation: Any) -> tuple[Difference, ...]:
    """How an observation differs from what the scenario makes right; nothing where some reading explains it all.

    Where none does, those are told from which only good sense differs, else those of the prediction that held longest.
    Raises `looptck.oracle.readings.TooOpenError` where there are more readings than are followed.
    """
    found: tuple[Difference, ...] = _of(profile).differences(scenario, observation)
    return found


def _of(profile: Profile) -> Any:
    return import_module(f"looptck.oracle.beside_{profile.name}")
