"""An agent loop, to be written: README.md says in which order, `looptck check` says how far it has come.

Each comment that asks something stands where loops go wrong. When the line below it is written, and the test that it
names passes, take the comment away. Everything that passes between the kit and a loop is in `looptck.contract.ag03`,
which is here as `ag03`: messages, chunks and the `Accumulator` that folds them, events, verdicts, errors, step names.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from looptck.contract import ag03
from looptck.contract.ag03 import Event, Message, ToolCall, Usage

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer


class Agent:
    """What all runs have in common."""

    # Two runs of one agent may be under way at once. Which of your variables would they share, if it stood here?

    def __init__(
        self,
        provider: ag03.Provider,
        tools: ag03.Tools,
        system: str = "",
        name: str = "agent",
        call_options: Mapping[str, Any] | None = None,
        max_iter: int = ag03.DEFAULT_MAX_ITER,
        max_parallel_tools: int = ag03.DEFAULT_MAX_PARALLEL_TOOLS,
        budget: ag03.Budget | None = None,
        gate: ag03.Gate | None = None,
        step_runner: ag03.StepRunner | None = None,
        tracer: Tracer | None = None,
        approvals: Sequence[str] = (),
    ) -> None:
        self.provider, self.tools, self.call_options = provider, tools, call_options or {}
        self.system, self.name, self.tracer = system, name, tracer
        self.max_iter, self.max_parallel_tools, self.budget = max_iter, max_parallel_tools, budget or ag03.Budget()
        self.gate, self.approvals, self.step_runner = gate, approvals, step_runner or ag03.Direct()
        # An option that a loop takes and does not heed is worse than none. So each is refused until it is written:
        # take its two lines away when its test is the next one.
        if system:
            raise NotImplementedError("write `system` in Run.__init__ (TestSystemPrompt)")
        if max_iter != ag03.DEFAULT_MAX_ITER:
            raise NotImplementedError("write `max_iter` in Run.loop (TestMaxIterStops)")
        if max_parallel_tools != ag03.DEFAULT_MAX_PARALLEL_TOOLS:
            raise NotImplementedError("write `max_parallel_tools` (TestParallelToolsBoundedOrderPreserved)")
        if budget is not None:
            raise NotImplementedError("write `budget` in Run.dispatch (TestBudgetStopsBeforeDispatch)")
        if gate is not None:
            raise NotImplementedError("write `gate` in Run.dispatch, then `approvals` (TestGateVerdicts)")
        if step_runner is not None:
            raise NotImplementedError("write `step_runner` in Run.ask and Run.dispatch (TestStepRunnerNames)")
        if tracer is not None:
            raise NotImplementedError("write `tracer` around the run, Run.ask and each call (TestSpans)")

    def invoke(self, messages: Sequence[Message]) -> Run:
        """Make a run over the messages."""
        return Run(self, messages)


class Run:
    """One run, and the stream that its caller holds."""

    def __init__(self, agent: Agent, messages: Sequence[Message]) -> None:
        self.agent = agent
        # The caller's list has to look as before when the run is over. Is this one yours?
        self.messages = messages
        self.spent = Usage()
        # Where does the system prompt go, and does a transcript that was started with one need another?

    async def result(self) -> Message:
        """The answer; raises what ended the run."""
        # One caller never reads the events, another reads them all before asking for the result, a third asks for the
        # result twice. Does each get the same answer, from one run? And who is waiting when 2,000 events are unread?
        raise NotImplementedError("write Run.result first: let Run.loop run and give back its answer (TestHandExample)")

    def events(self) -> AsyncIterator[Event]:
        """What happens in the run, in order, until it ends."""
        # An `async def` with `yield` in it gives such an iterator.
        # Does the iterator end where the run ends with an error, or is cancelled?
        raise NotImplementedError("write Run.events: what the loop does, as it happens (TestHandExample)")

    def transcript(self) -> Sequence[Message]:
        """The messages so far."""
        return tuple(self.messages)

    def usage(self) -> Usage:
        """The tokens of the run so far."""
        return self.spent

    async def loop(self) -> Message:
        """Ask the model, act on its calls, and again, until a reply has no calls."""
        # A cap of three: what happens between the third turn and the fourth model call, and is it in time?
        # An input may end with a turn whose calls nobody has answered. Who is next then, the model or the tools?
        # `MaxIterError` and its like carry the last assistant message, the transcript and the usage. Who puts them in?
        raise NotImplementedError("write Run.loop: section 2.1 of the specification (TestHandExample)")

    async def ask(self) -> Message:
        """One model call: fold the chunks of the reply, count what it took, append it."""
        # What has to stand in the messages before a tool message may?
        # A model that breaks off in the middle of a reply: is what has arrived a reply?
        # Is what the run has spent what this model call took?
        # Where the step is replayed from a journal the model says nothing. Where do reply and usage come from then?
        raise NotImplementedError("write Run.ask: one reply of provider.stream(…) as a message (TestHandExample)")

    async def dispatch(self, calls: Sequence[ToolCall]) -> None:
        """The calls of one turn: may they run, what comes of them, and their tool messages."""
        # Budgets: what has already been spent at the moment when you look? Three calls against two: how many may run?
        # The gate: is everything asked before anything runs? What does the model read of a call that was denied? Has
        # it read anything from outside yet, and who has told the gate? What runs beside a call that has to wait? By
        # which of its names is an approval found, in the run that comes after?
        # In parallel: a model may propose a hundred calls. How many are in flight, in the whole turn? And when the
        # last of them finishes first, which tool message comes first?
        # Steps: two calls of one tool in one turn, what are their steps called? If a tool fails, that is a result. If
        # the runner fails, nobody knows whether the tool ran: may the model then read on as if it had failed?
        # Spans: what does the outcome of a call say that failed, or that never ran?
        raise NotImplementedError("write Run.dispatch: tools.call(…), and a tool message, for each (TestHandExample)")
