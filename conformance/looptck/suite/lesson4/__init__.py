"""The suite of the profile lesson4: the lesson's named tests, one for each other thing that it states, one of ours."""

from looptck.suite.lesson4 import rare  # noqa: F401 - adds its checks to the tests
from looptck.suite.lesson4.answering import CONTEXT, LISTS, RUNS, SINGLE
from looptck.suite.lesson4.field import FIELD
from looptck.suite.lesson4.metering import COST, TOGETHER, TOKENS, TRACED
from looptck.suite.lesson4.stopping import DIFFERING, FATAL, REPEATING, RUNAWAY

TESTS = (SINGLE, FATAL, DIFFERING, RUNAWAY, REPEATING, CONTEXT, LISTS, TOKENS, COST, TOGETHER, RUNS, TRACED, FIELD)
