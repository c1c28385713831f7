"""looptck: a conformance test kit for LLM agent loops.

This module stays empty of work: a student's file that imports `looptck.contract` must not pay for the kit.
"""

__version__ = "0.1.0"
