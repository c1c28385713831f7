"""Observation: build the fakes of a scenario, give them to a loop, and record everything from the kit's own side."""

from looptck.observe.drive import LIMIT, observe_here

__all__ = ["LIMIT", "observe_here"]
