"""The public bug threads behind the checks `field/…`: whose, which, and what happened there, in our own words.

Facts alone: nobody's sentences, nobody's code. A thread belongs to the profiles that have its check.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread on github.com: the repository, an issue or a pull request by number, and the checks that came of it."""

    repository: str
    kind: Literal["issue", "pull"]
    number: int
    happened: str
    checks: tuple[str, ...]

    @property
    def title(self) -> str:
        """The repository and the number, as people speak of it."""
        return f"{self.repository} {'PR ' if self.kind == 'pull' else ''}{self.number}"

    @property
    def url(self) -> str:
        """Where it stands."""
        return f"https://github.com/{self.repository}/{'pull' if self.kind == 'pull' else 'issues'}/{self.number}"


THREADS = (
    Thread(
        "pydantic/pydantic-ai",
        "pull",
        2978,
        "With a limit of six tool calls, eight calls of one reply all started before the limit was looked at.",
        ("field/limit-before-parallel-calls",),
    ),
    Thread(
        "pydantic/pydantic-ai",
        "issue",
        6884,
        "Nothing bounded the calls of one turn: a reply that proposed 792 of them started 792 at once, and the run "
        "made no progress for hours.",
        ("field/wide-turn-bounded",),
    ),
    Thread(
        "pydantic/pydantic-ai",
        "issue",
        3574,
        "A streamed reply that began with text was taken for the answer as soon as the text came; the call behind "
        "it never ran.",
        ("field/text-before-calls",),
    ),
    Thread(
        "pydantic/pydantic-ai",
        "issue",
        3995,
        "The span of a run repeated the sum of its model calls' tokens under the same attributes, so whoever added "
        "the spans up counted every token twice.",
        ("field/tokens-told-once",),
    ),
    Thread(
        "openai/openai-agents-python",
        "issue",
        719,
        "The error at the cap carried nothing of the run, so what its turns had found out was lost to the next phase.",
        ("field/partial-results-at-cap", "field/partial-results-at-ceiling"),
    ),
    Thread(
        "openai/openai-agents-python",
        "issue",
        4198,
        "A handler of streamed events that was cancelled left the queue of events unread, and the run waited "
        "for it for ever.",
        ("field/reader-leaves",),
    ),
    Thread(
        "openai/openai-agents-python",
        "issue",
        1061,
        "Where a run went on from an earlier response, the output of the tool that had run last was not sent, and "
        "the service refused the call that stood without one.",
        ("field/outputs-reach-next-run",),
    ),
    Thread(
        "langchain-ai/langchain",
        "issue",
        33504,
        "A reply whose only calls had arguments that did not parse counted as one without calls: the run ended, "
        "without an error and with nothing for an answer.",
        ("field/invalid-call-answered",),
    ),
    Thread(
        "langchain-ai/langgraph",
        "issue",
        8204,
        "At the last step that the limit allowed, a call whose result would have been the answer did not run; a "
        "stock sentence about needing more steps came in its place.",
        ("field/last-turn-dispatched",),
    ),
    Thread(
        "langchain-ai/langgraph",
        "issue",
        5109,
        "Calls that nothing had answered were sent to the model as they stood in the history.",
        ("field/cut-off-calls-answered",),
    ),
    Thread(
        "huggingface/smolagents",
        "pull",
        2684,
        "The calls of a turn were kept in a table by their ids: of those with the same id, or with none, only the "
        "last ran, and nothing said so.",
        ("field/every-id-runs",),
    ),
    Thread(
        "huggingface/smolagents",
        "issue",
        1961,
        "Tools ran where the context of the run was not known, so their spans had no parent and each was a trace "
        "of its own.",
        ("field/spans-have-parents",),
    ),
    Thread(
        "strands-agents/harness-sdk",
        "issue",
        2051,
        "Arguments that were no JSON, cut off in the middle or without quotes, became an empty object: the tool ran "
        "without arguments, and the model never read what was wrong.",
        ("field/arguments-not-emptied",),
    ),
    Thread(
        "agno-agi/agno",
        "issue",
        8304,
        "Past the limit of tool calls each further call was answered with a refusal and the model asked again, "
        "hundreds of times for one message: the limit never ended the run.",
        ("field/limit-ends-run",),
    ),
    Thread(
        "microsoft/agent-framework",
        "issue",
        6851,
        "A call that had been approved and had run was run again with a later, unrelated question, which nobody had "
        "approved.",
        ("field/approved-call-runs-once",),
    ),
    Thread(
        "microsoft/agent-framework",
        "pull",
        7271,
        "When a run was resumed, the call was restored from its approval beside the one that the history had: it "
        "stood there twice, once without an answer, and the service refused that.",
        ("field/resumed-call-not-doubled",),
    ),
    Thread(
        "microsoft/agent-framework",
        "pull",
        4739,
        "A run of several model calls told the token usage of its last one as that of the whole.",
        ("field/usage-of-every-call",),
    ),
    Thread(
        "langchain-ai/deepagentsjs",
        "issue",
        150,
        "Of two calls side by side one waited for a person, who rejected it; after that a call stood without an "
        "answer, and the service refused the request.",
        ("field/rejected-call-answered",),
    ),
    Thread(
        "lanl/ursa",
        "issue",
        331,
        "Each resumed session put the system prompt in once more, behind the earlier messages; the client of one "
        "provider refuses such a request.",
        ("field/one-prompt-in-three-sessions",),
    ),
)
"""In the order of docs/field.md."""


def threads_of(check: str) -> tuple[Thread, ...]:
    """The threads that a check came of; none for most."""
    return tuple(thread for thread in THREADS if check in thread.checks)
