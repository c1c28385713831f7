"""The suite of the profile ag03: the twelve tests of section 4 in their order, and one of our own."""

from looptck.suite.ag03 import (
    approvals,  # noqa: F401 - adds its checks to TestGateVerdicts
    budgets,
    end_to_end,
    field,
    gate,
    hand_example,
    max_iter,
    odd_values,  # noqa: F401 - adds its checks to TestHandExample
    parallel,
    provider_errors,
    spans,
    step_errors,
    steps,
    streams,
    system_prompt,
)

TESTS = (
    hand_example.TEST,
    system_prompt.TEST,
    max_iter.TEST,
    parallel.TEST,
    budgets.TEST,
    gate.TEST,
    steps.TEST,
    step_errors.TEST,
    spans.TEST,
    provider_errors.TEST,
    streams.TEST,
    end_to_end.TEST,
    field.TEST,
)
