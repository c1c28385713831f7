"""What a target may name: a loop's class, an adapter, its class, a function; and what each is told it lacks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from types import ModuleType
from typing import Any, NoReturn

import pytest

import looptck_reference
from looptck.adapter import ContractAdapter, NoInterfaceError, Outcome, Run
from looptck.adapting import GuardedAdapter, NoAdapterError
from looptck.lesson4.adapter import ContractAdapter as MeteredContractAdapter
from looptck.profile import profile_of
from looptck_reference import metered

MODULE = ModuleType("of_the_target")
FEATURES = {
    "ag03": "approvals, budget, cancel, events, gate, max_iter, max_parallel_tools, result_twice, resume, step_runner, "
    "tracer",
    "lesson4": "budget, system, tracer",
}


class Chat:
    """An adapter of ag03."""

    name, version = "chat", "3"
    lacks: Mapping[str, str] = {"gate": "every call runs"}

    async def run(self, run: Run) -> Outcome:
        return Outcome(transcript=run.messages)


class Metered:
    """An adapter of lesson4."""

    name, version = "metered", "4"
    lacks: Mapping[str, str] = {"tracer": "it opens no spans"}

    def build(self, agents: Any) -> Any: ...
    def run(self, agent: Any, task: str, history: Any) -> Any: ...
    def cost(self, agents: Any, input_tokens: int, output_tokens: int) -> Any: ...


class Bare:
    """As an adapter of ag03, without a word of itself."""

    async def run(self, run: Run) -> Outcome:
        return Outcome(transcript=run.messages)


def chat() -> Chat:
    return Chat()


def adapted(thing: Any, profile: str = "ag03") -> Any:
    return profile_of(profile).adapt(thing, MODULE)


def refused(thing: Any, profile: str = "ag03") -> str:
    with pytest.raises(NoInterfaceError) as caught:
        adapted(thing, profile)
    return str(caught.value)


def own(**changes: Any) -> Any:
    """The adapter of ag03, changed."""
    return type("Own", (Chat,), changes)()


# what is taken


@pytest.mark.parametrize("thing", [Chat(), Chat, chat, lambda: Chat], ids=["object", "class", "made", "given"])
def test_an_adapter_is_taken_however_it_is_named(thing: Any) -> None:
    adapter = adapted(thing)
    assert (adapter.name, adapter.version, adapter.lacks) == ("chat", "3", Chat.lacks)
    assert adapter.isolation == "fork"


@pytest.mark.parametrize("thing", [Metered(), Metered, lambda: Metered], ids=["object", "class", "given"])
def test_an_adapter_of_lesson4_is_taken_too(thing: Any) -> None:
    assert isinstance(adapted(thing, "lesson4"), Metered)


@pytest.mark.parametrize("thing", [looptck_reference.Agent, lambda: looptck_reference.Agent], ids=["class", "given"])
def test_the_class_of_a_loop_is_taken(thing: Any) -> None:
    assert isinstance(adapted(thing), ContractAdapter)


@pytest.mark.parametrize("thing", [metered.Agent, lambda: metered.Agent], ids=["class", "given"])
def test_the_class_of_a_metered_loop_is_taken(thing: Any) -> None:
    assert isinstance(adapted(thing, "lesson4"), MeteredContractAdapter)


def test_a_class_that_meets_the_contract_is_a_loop_though_it_could_be_an_adapter() -> None:
    assert isinstance(adapted(type("Both", (Chat,), {"invoke": lambda _self, _messages: None})), ContractAdapter)


def test_an_adapter_may_ask_for_a_process_of_its_own() -> None:
    assert adapted(own(isolation="process")).isolation == "process"


def test_every_feature_may_be_lacking() -> None:
    for profile, features in FEATURES.items():
        lacks = dict.fromkeys(features.split(", "), "not yet")
        adapter = type("All", (Chat if profile == "ag03" else Metered,), {"lacks": lacks})
        assert adapted(adapter, profile).lacks == lacks


# what is not


@pytest.mark.parametrize(
    ("thing", "told"),
    [
        (None, "is no class, no adapter (it has no lacks and no run) and no function"),
        (type("Half", (), {"lacks": {}})(), "is no class, no adapter (it has no run) and no function"),
        (lambda: 5, "gave a int, which is no class and no adapter (it has no lacks and no run)"),
        (Bare().run, "wants run: what makes an adapter is called without arguments"),
        (type("Wants", (Chat,), {"__init__": lambda _self, _model: None}), "wants _model: what makes"),
        (type("Half", (), {"lacks": {}}), "is no adapter's class of this profile (it has no run)"),
        (Bare, "is an adapter whose name is no text: None"),
        (own(name=5), "is an adapter whose name is no text: 5"),
        (own(version=None), "is an adapter whose version is no text: None"),
        (own(lacks=["gate"]), "is an adapter whose lacks does not map features to reasons: ['gate']"),
        (own(lacks={"gate": None}), "is an adapter whose lacks does not map features to reasons: {'gate': None}"),
        (
            own(lacks={"gates": "?"}),
            f"is an adapter that lacks 'gates', and there is no such feature; there are {FEATURES['ag03']}",
        ),
        (own(isolation="thread"), "is an adapter whose isolation is neither fork nor process: 'thread'"),
    ],
)
def test_what_cannot_be_used_is_told_by_what_is_wrong_with_it(thing: Any, told: str) -> None:
    with pytest.raises(NoAdapterError) as caught:
        adapted(thing)
    assert str(caught.value).startswith(told)


@pytest.mark.parametrize(
    ("thing", "profile", "told"),
    [
        (metered.Agent, "ag03", "Agent has no method invoke(messages); it has run: --profile lesson4?"),
        (looptck_reference.Agent, "lesson4", "Agent has no method run(task, history); it has invoke: --profile ag03?"),
        (Chat, "lesson4", "is no adapter's class of this profile (it has no build and no cost); it has lacks"),
        (Metered, "ag03", "is no adapter's class of this profile; it has build: --profile lesson4?"),
        (type("Empty", (), {}), "ag03", "Empty has no method invoke(messages)"),
        (type("Empty", (), {}), "lesson4", "Empty has no method run(task, history)"),
        (Metered(), "ag03", "is no class, no adapter and no function; it has build: --profile lesson4?"),
        (
            Chat(),
            "lesson4",
            "is no class, no adapter (it has no build and no cost) and no function; it has lacks: --pro",
        ),
    ],
)
def test_what_is_of_the_other_profile_is_told_so(thing: Any, profile: str, told: str) -> None:
    text = refused(thing, profile)
    assert text.startswith(told)
    assert ("--profile" in text) == ("Empty" not in text)


def test_a_function_that_raises_is_told_with_its_place() -> None:
    def fails() -> NoReturn:
        raise LookupError("no\nkey")

    assert refused(fails).startswith("raised LookupError: no key (test_adapting.py, line ")


def test_a_coroutine_function_makes_no_adapter() -> None:
    async def late() -> Chat:
        return Chat()

    assert refused(late).startswith("gave a coroutine, which is no class and no adapter")


class Unreadable(Mapping[str, str]):
    """It raises whatever it is asked."""

    def __getitem__(self, key: str) -> NoReturn:
        raise LookupError(key)

    def __iter__(self) -> NoReturn:
        raise LookupError("no keys")

    __len__ = __repr__ = __iter__


def raises(_self: Any) -> NoReturn:
    raise SystemExit("no\nmore")


@pytest.mark.parametrize("profile", FEATURES)
@pytest.mark.parametrize("name", ["name", "version", "lacks", "isolation", "run"])
def test_what_an_adapter_raises_when_it_is_looked_at_is_told_with_its_place(name: str, profile: str) -> None:
    kind = type("Own", (Chat if profile == "ag03" else Metered,), {name: property(raises)})
    for thing in (kind(), kind, partial(kind)):
        if not (name == "run" and thing is kind):  # a class is looked at before it is called, and has the property
            told = refused(thing, profile)
            assert told.startswith("raised SystemExit: no more (test_adapting.py, line ")
            assert told.endswith("), when it was looked at")


def test_what_cannot_be_shown_is_told_too() -> None:
    assert refused(own(lacks=Unreadable())).startswith("raised LookupError: no keys (test_adapting.py, line ")


def test_ctrl_c_is_left_to_whoever_pressed_it() -> None:
    def pressed(_self: Any) -> NoReturn:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        adapted(own(name=property(pressed)))


# what goes wrong in an adapter is not the kit's fault


def ran(result: Any) -> Any:
    """What comes of the adapter's `run` where that gives, or raises, the result."""

    class Odd(Chat):
        async def run(self, run: Run) -> Outcome:  # noqa: ARG002 - the protocol's
            if isinstance(result, BaseException):
                raise result
            outcome: Outcome = result
            return outcome

    run = Run({}, [], "none", lambda _event: None, {}, 0)
    return asyncio.run(GuardedAdapter(Odd()).run(run))


def test_an_outcome_goes_through() -> None:
    outcome = Outcome()
    assert ran(outcome) is outcome


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (KeyError("model"), "the adapter chat raised KeyError: 'model' (test_adapting.py, line "),
        (None, "what the adapter chat gave is no Outcome, but a NoneType"),
        (NoInterfaceError("nothing to run"), "nothing to run"),
    ],
)
def test_what_goes_wrong_in_an_adapter_is_told_as_its_own(result: Any, told: str) -> None:
    with pytest.raises(NoInterfaceError) as caught:
        ran(result)
    assert str(caught.value).startswith(told)


def test_what_is_no_ordinary_exception_is_left_alone() -> None:
    with pytest.raises(asyncio.CancelledError):
        ran(asyncio.CancelledError())
