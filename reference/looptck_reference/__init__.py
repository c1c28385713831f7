"""The reference implementations: what each profile's suite passes whole, and what the mutants are patches against."""

from looptck_reference.loop import Agent

__all__ = ["Agent"]
