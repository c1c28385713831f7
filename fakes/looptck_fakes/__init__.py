"""Fakes for the seams of an agent loop, for this kit's suites and for anybody's own tests.

They import the contract alone, may be used from any thread and event loop, and write what they were asked into a
`Recorder`, their own or a shared one. The fake model server is in `looptck_fakes.server`, since it brings an HTTP
stack with it, and those of the synchronous profile lesson4 are in `looptck_fakes.lesson4`.
"""

from looptck_fakes.durable import DurableRunner, StopAt, UnknownWriteError
from looptck_fakes.gates import TableGate
from looptck_fakes.provider import ScriptedProvider, ScriptExhaustedError
from looptck_fakes.recorder import (
    GateAsked,
    ModelAnswered,
    ModelAsked,
    Record,
    Recorder,
    StepEnded,
    StepStarted,
    ToolEnded,
    ToolStarted,
)
from looptck_fakes.runners import RecordingRunner, RefusedStepError, RefusingRunner, ReplayingRunner, StoppedError
from looptck_fakes.stage import Held, Stage
from looptck_fakes.tools import Answer, Raises, RecordingTools
from looptck_fakes.turns import Turn

__all__ = [
    "Answer",
    "DurableRunner",
    "GateAsked",
    "Held",
    "ModelAnswered",
    "ModelAsked",
    "Raises",
    "Record",
    "Recorder",
    "RecordingRunner",
    "RecordingTools",
    "RefusedStepError",
    "RefusingRunner",
    "ReplayingRunner",
    "ScriptExhaustedError",
    "ScriptedProvider",
    "Stage",
    "StepEnded",
    "StepStarted",
    "StopAt",
    "StoppedError",
    "TableGate",
    "ToolEnded",
    "ToolStarted",
    "Turn",
    "UnknownWriteError",
]
