"""What the rig knows of a run that is under way: how many tools a correct loop has in flight now."""

from __future__ import annotations

from functools import partial

from looptck.observe.rig import Rig
from looptck.scenario import Call, Invocation, Said, Scenario, Turn
from looptck_fakes import ModelAnswered, ModelAsked, ToolEnded

CALLS = tuple(Call(id=f"call_{number}", name="look_up") for number in range(3))
WAITING = Call(id="call_3", name="send", verdict="need_approval", marker="approve")
PROPOSED = Said(role="assistant", calls=(*CALLS, WAITING))


def rig_of(*messages: Said, approvals: tuple[str, ...] | None = None) -> Rig:
    """The rig of a run over the messages, which has begun."""
    rig = Rig(Scenario(name="s", gate=True, invocations=(Invocation(messages=messages, approvals=approvals),)))
    rig.begin([0])
    rig.given[0] = [said.message() for said in messages]
    return rig


def answers(number: int) -> tuple[Said, ...]:
    """The tool messages of so many calls."""
    return tuple(Said(role="tool", tool_call_id=call.id) for call in CALLS[:number])


def ended(run: int, at: int) -> ToolEnded:
    """The end of a tool run."""
    return ToolEnded(at, run, "returned")


def test_calls_that_the_input_answers_are_not_waited_for() -> None:
    # A loop that polls took a second for each tool that was released, since more of them were thought to come.
    assert rig_of(PROPOSED, *answers(3), Said()).target_in_flight() == 0


def test_calls_that_the_input_leaves_open_are_waited_for() -> None:
    assert rig_of(PROPOSED, *answers(1)).target_in_flight() == 2


def test_an_approved_call_is_waited_for_and_another_is_not() -> None:
    assert rig_of(PROPOSED).target_in_flight() == 3
    assert rig_of(PROPOSED, approvals=("approve",)).target_in_flight() == 4


def asked(*turns: Turn, before: tuple[Said, ...] = ()) -> Rig:
    """The rig of a run whose model has given the first of these turns, behind an input."""
    rig = Rig(Scenario(name="s", invocations=(Invocation(messages=before, turns=turns),)))
    rig.begin([0])
    rig.given[0] = [said.message() for said in before]
    reply(rig, 0)
    return rig


def reply(rig: Rig, number: int) -> None:
    """The model is asked, and gives its next turn."""
    rig.recorder.add(lambda at: ModelAsked(at, number, "0", (), (), {}))
    rig.recorder.add(lambda at: ModelAnswered(at, number, "whole"))


def test_what_a_loop_has_not_called_by_the_next_reply_is_not_waited_for() -> None:
    # A loop that leaves a partly answered turn alone took a second for each tool that was the last of its turn.
    rig = asked(Turn(calls=CALLS[2:]), before=(Said(role="assistant", calls=CALLS), *answers(1)))
    assert rig.target_in_flight() == 1
    rig.recorder.add(partial(ended, 0))
    assert rig.target_in_flight() == 0


def test_what_did_not_come_for_a_long_time_is_not_waited_for_again_in_its_turn() -> None:
    rig = asked(Turn(calls=CALLS), Turn(calls=CALLS[:2]))
    assert rig.target_in_flight() == 3
    rig.conclude()
    assert rig.target_in_flight() == 0, "nothing is held, so all three were missing"
    reply(rig, 1)
    assert rig.target_in_flight() == 2


def test_what_ended_in_an_earlier_invocation_is_not_counted() -> None:
    rig = rig_of(PROPOSED)
    for number in range(len(CALLS)):
        rig.recorder.add(partial(ended, number))
    assert rig.target_in_flight() == 0
    rig.begin([0])
    assert rig.target_in_flight() == 3
