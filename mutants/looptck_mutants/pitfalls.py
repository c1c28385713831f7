"""What is behind each pitfall that the specification of ag03 numbers (section 5): why the mistake costs something."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PITFALLS: Mapping[int | str, str] = {
    1: "A cap that is looked at when the model has answered lets one call more through than it allows.",
    2: "Calls that start without a bound flood what is behind the tools, and results in the order in which they "
    "finish stand beside the wrong calls.",
    3: "A budget holds only if it is looked at before anything is spent, and against the sum of the whole run.",
    4: "What the gate says has to be obeyed, and an approval belongs to one marker: else denied calls run, approved "
    "ones wait for ever, or a resumed run asks for other calls than those that were approved.",
    5: "A gate that is not told of tool output in the context takes a request that foreign text has had a hand in for "
    "one of the user's own.",
    6: "The transcript holds every turn once, behind one system prompt: else instructions pile up, or results answer "
    "calls that nobody proposed.",
    7: "Names of steps and outcomes of spans are there to tell calls apart: else two calls share one entry of the "
    "journal, and failures look like successes.",
    8: "An error that is swallowed passes for a result: a dead model for an empty answer, a refused step for a tool "
    "that failed.",
}
"""By the number that a manifest gives."""
