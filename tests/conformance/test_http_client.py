"""The HTTP client and the server cost more to import than the suite to run: only who talks over HTTP imports them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from looptck.suite import tests_of

PROGRAM = """
import json, sys
from looptck import session
from looptck.target import REFERENCES
from looptck.profile import profile_of
from looptck.target import parse_target

profile, transports = sys.argv[1], sys.argv[2:]

def load():
    return parse_target("reference", {"reference": REFERENCES[profile]}).load(profile_of(profile).adapt)

chosen = session.choose(profile, "", 1)
for test in chosen:
    test.scenarios = [one for one in test.scenarios if getattr(one, "transport", "direct") in transports]
chosen = [test for test in chosen if test.scenarios]
observed = [test for test in session.observe_all(chosen, load, isolation="none") if test.complete()]
print(json.dumps({
    "tests": [test.test.name for test in observed],
    "died": [seen.died for test in observed for _, seen in test.observed.values() if seen.died],
    "loaded": sorted({name.partition(".")[0] for name in sys.modules}),
}))
"""
"""It observes the reference in every scenario of these transports, and tells what it has imported by then."""

HTTP = {"httpx2", "starlette", "uvicorn"}
END_TO_END = "TestFaketoolEndToEnd"


def ran(profile: str, *transports: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, profile, *transports], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("profile", "others"), [("ag03", {END_TO_END}), ("lesson4", set())])
def test_no_other_test_than_the_end_to_end_one_imports_an_http_client_or_a_server(
    profile: str, others: set[str]
) -> None:
    told = ran(profile, "direct")
    assert set(told["tests"]) == {test.name for test in tests_of(profile)} - others
    assert told["died"] == []
    assert HTTP & set(told["loaded"]) == set()


def test_the_end_to_end_test_imports_them() -> None:
    """So that what the others do not import is called by its name."""
    told = ran("ag03", "http")
    assert (told["tests"], told["died"]) == ([END_TO_END], [])
    assert set(told["loaded"]) >= HTTP


def test_importing_the_kit_brings_no_http_client() -> None:
    program = (
        "import sys, looptck, looptck.contract.ag03; sys.exit('httpx2' in sys.modules or 'asyncio' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
