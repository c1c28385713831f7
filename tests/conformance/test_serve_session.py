"""`looptck serve-model` over real HTTP: what it prints, how it ends, and what its exit codes are."""

from __future__ import annotations

import http.client
import json
import os
import re
import select
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.conformance.commands import ROOT, command, started
from tests.conformance.serve_asking import ANSWER, requests, scenario

from looptck.scenario import Scenario, load_scenario
from looptck.serve import session, told
from looptck_fakes.server import ModelServer

EXAMPLES = ROOT / "examples"
HAND = str(EXAMPLES / "scenarios" / "hand.json")
CLIENT = (sys.executable, str(EXAMPLES / "openai_client.py"))
LIMIT = 30
"""Seconds after which something will not happen any more."""
TIMELESS = re.compile(r"127\.0\.0\.1:\d+")


def lines(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def ask(base_url: str, raw: bytes, path: str = "/chat/completions") -> int:
    """One request; the status of its answer."""
    url = urlsplit(base_url + path)
    connection = http.client.HTTPConnection(url.netloc)
    try:
        connection.request("POST", url.path, raw)
        response = connection.getresponse()
        response.read()
        return response.status
    finally:
        connection.close()


def written(given: Scenario, folder: Path) -> str:
    file = folder / "scenario.json"
    file.write_text(given.model_dump_json(), encoding="utf-8")
    return str(file)


def hand_requests() -> list[bytes]:
    return requests(load_scenario(Path(HAND).read_text(encoding="utf-8"), HAND))


def client(folder: Path, code: str) -> tuple[str, str]:
    """A command that runs this code with a function `ask`, the requests of a correct loop, and the base URLs."""
    file = folder / "client.py"
    file.write_text(
        "import http.client, os, signal, sys, time, urllib.parse\n"
        "urls = os.environ['LOOPTCK_BASE_URLS'].split()\n"
        f"requests = {hand_requests()!r}\n"
        "def ask(raw, url=urls[0]):\n"
        "    place = urllib.parse.urlsplit(url)\n"
        "    connection = http.client.HTTPConnection(place.netloc)\n"
        "    connection.request('POST', place.path + '/chat/completions', raw)\n"
        "    return connection.getresponse().read()\n" + code,
        encoding="utf-8",
    )
    return sys.executable, str(file)


# with a command


@pytest.mark.parametrize("name", ["hand", "capped", "three-calls", "system-prompt"])
def test_the_client_of_the_examples_passes_the_scenarios_of_the_examples(looptck: Any, name: str) -> None:
    # A process has to start: this is the way on which people will first meet the command.
    ran = looptck("serve-model", str(EXAMPLES / "scenarios" / f"{name}.json"), "--", *CLIENT)
    serving, *asked, verdict = lines(ran.out)
    assert (ran.code, verdict["verdict"], verdict["findings"]) == (0, "pass", [])
    assert serving["type"] == "serving"
    assert [line["number"] for line in asked] == list(range(1, verdict["requests"] + 1))
    assert {line["type"] for line in asked} == {"request"}


def test_what_people_see_of_a_wrong_client_is_what_the_page_shows() -> None:
    ran = command("serve-model", HAND, "--", sys.executable, str(EXAMPLES / "forgetful_client.py"))
    page = (ROOT / "docs" / "serve-model.md").read_text(encoding="utf-8")
    shown = page.split("<!-- forgetful -->\n```text\n", 1)[1].split("```\n", 1)[0]
    assert ran.code == 1
    # What the client prints itself comes when it comes, be it in the middle of a line.
    own = re.compile(r'It is sunny\.(?!")')
    told, page_told = (TIMELESS.sub("HERE", text) for text in (ran.err, shown))
    assert len(own.findall(told)) == 1
    assert [line for line in own.sub("", told).splitlines() if line] == [
        line for line in own.sub("", page_told).splitlines() if line
    ]


def test_the_lines_say_what_was_asked_and_answered_and_a_file_has_the_verdict(looptck: Any, tmp_path: Path) -> None:
    report = tmp_path / "verdict.json"
    code = "for raw in [b'hello', *requests, requests[-1]]: ask(raw)\n"
    ran = looptck("serve-model", HAND, "--json", str(report), "--", *client(tmp_path, code))
    serving, *asked, verdict = lines(ran.out)
    assert serving["base_url"] == serving["base_urls"][0]
    assert [line["answer"] for line in asked] == [
        "status 400: no chat completion request",
        'call_1 = get_weather({"city":"Paris"})',
        '"It is sunny."',
        "status 400: the script has no reply left",
    ]
    assert [line["messages"] for line in asked[1:3]] == [json.loads(raw)["messages"] for raw in hand_requests()]
    assert [line["beyond_script"] for line in asked] == [False, False, False, True]
    assert asked[1]["tools"] == ["get_weather"]
    assert [finding["id"] for finding in verdict["findings"]] == ["requests/readable", "requests/none-after-answer"]
    assert verdict["notes"] == ["more was asked than the script has replies for"]
    assert json.loads(report.read_text(encoding="utf-8")) == verdict
    assert ran.code == 1


def test_each_invocation_has_a_base_url_of_its_own(looptck: Any, tmp_path: Path) -> None:
    given = load_scenario(Path(HAND).read_text(encoding="utf-8"), HAND)
    file = written(given.model_copy(update={"invocations": given.invocations * 2}), tmp_path)
    code = "for raw, url in zip(requests * 2, [urls[0], urls[0], urls[1], urls[1]]): ask(raw, url)\n"
    ran = looptck("serve-model", file, "--", *client(tmp_path, code))
    assert ran.code == 0
    assert [line["invocation"] for line in lines(ran.out)[1:-1]] == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("code", "exit_code", "ended"),
    [
        ("sys.exit(3)", 2, "the command ended with exit code 3"),
        ("ask(requests[0])\nos.kill(os.getpid(), signal.SIGKILL)", 2, "the command was ended by signal 9"),
        ("ask(requests[0])\nsys.exit(1)", 2, "the command ended with exit code 1"),
        ("ask(requests[0])", 1, "the command ended with exit code 0"),
        ("for raw in requests: ask(raw)\nsys.exit(1)", 0, "the command ended with exit code 1"),
    ],
    ids=["asks nothing", "is killed in the middle", "fails in the middle", "stops early", "fails behind its answer"],
)
def test_a_client_that_stops_somewhere(looptck: Any, tmp_path: Path, code: str, exit_code: int, ended: str) -> None:
    ran = looptck("serve-model", HAND, "--", *client(tmp_path, code))
    verdict = lines(ran.out)[-1]
    assert (ran.code, verdict["ended"]) == (exit_code, ended)
    assert ran.err.splitlines()[-2] == ended


def test_nothing_of_a_command_is_left(looptck: Any, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "alive")
    alive = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    code = (
        f"alive = os.open({str(tmp_path / 'alive')!r}, os.O_WRONLY)\n"
        "if os.fork() == 0:\n"
        "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "    os.write(alive, b'.')\n"
        "    while True: signal.pause()\n"
        "for raw in requests: ask(raw)\n"
    )
    assert looptck("serve-model", HAND, "--", *client(tmp_path, code)).code == 0
    with os.fdopen(alive, "rb", buffering=0) as pipe:
        while select.select([pipe], [], [], LIMIT)[0] and pipe.read(1):
            continue
        assert select.select([pipe], [], [], 0)[0], "the end of the pipe: nobody holds it open any more"


def test_a_command_that_waits_for_ever_is_ended_by_idle(looptck: Any, tmp_path: Path) -> None:
    ran = looptck("serve-model", HAND, "--idle", "0.05", "--", *client(tmp_path, "ask(requests[0])\nsignal.pause()\n"))
    verdict = lines(ran.out)[-1]
    assert (ran.code, verdict["ended"], verdict["command_exit"]) == (2, "nothing was asked for 0.05 seconds", None)


# without


def test_without_a_command_it_ends_when_nothing_is_asked_any_more(
    looptck: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    only = scenario(ANSWER)

    def asking(given: Scenario, urls: list[str]) -> dict[str, Any]:
        """The first line; whoever reads it begins to ask."""
        threading.Thread(target=ask, args=(urls[0], *requests(only))).start()
        return told.serving(given, urls)

    monkeypatch.setattr(session, "serving", asking)
    port = 20_000 + os.getpid() % 10_000  # below those that the system gives away, and another one in each worker
    with socket.create_server(("127.0.0.1", port)):
        pass
    ran = looptck("serve-model", written(only, tmp_path), "--port", str(port), "--idle", "0.05")
    serving, *asked, verdict = lines(ran.out)
    assert (ran.code, verdict["verdict"], len(asked)) == (0, "pass", 1)
    assert verdict["ended"] == "nothing was asked for 0.05 seconds"
    assert serving["base_url"] == f"http://127.0.0.1:{port}/s/1/v1"


@pytest.mark.parametrize("end", ["SIGINT", "SIGTERM", "SIGHUP", "standard input"])
def test_it_ends_from_outside_and_the_verdict_is_told(end: str) -> None:
    # A process of its own: what a signal does there is the point.
    with started("serve-model", HAND) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        base_url = json.loads(process.stdout.readline())["base_url"]
        first, second = hand_requests()
        assert ask(base_url, first) == 200
        assert json.loads(process.stdout.readline())["number"] == 1
        if end != "standard input":
            assert ask(base_url, second) == 200
            process.send_signal(getattr(signal, end))
        else:
            process.stdin.close()
        verdict = lines(process.stdout.read())[-1]
    whole = end != "standard input"
    assert verdict["ended"] == (f"ended by {end}" if whole else "standard input ended")
    assert (verdict["verdict"], process.returncode) == (("pass", 0) if whole else ("incomplete", 2))


def test_a_signal_ends_the_command_too(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "alive")
    code = f"alive = open({str(tmp_path / 'alive')!r}, 'w')\nalive.write('.')\nalive.flush()\nsignal.pause()\n"
    with started("serve-model", HAND, "--", *client(tmp_path, code)) as process:
        with (tmp_path / "alive").open(encoding="utf-8") as alive:
            assert alive.read(1) == "."
            process.send_signal(signal.SIGTERM)
            assert alive.read() == "", "the command is gone"
        assert process.stdout is not None
        assert lines(process.stdout.read())[-1]["ended"] == "ended by SIGTERM"
    assert process.returncode == 2


# usage


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "SCENARIO.json"),
        (("no-such.json",), "no-such.json: No such file or directory"),
        (("README.md",), "README.md: the file: Invalid JSON"),
        ((HAND, "--", "no-such-command"), "'no-such-command' cannot be run: No such file or directory"),
        ((HAND, "--port", "65536"), "'--port'"),
        ((HAND, "--host", "192.0.2.1"), "port 0 of 192.0.2.1 cannot be had"),
        ((HAND, "--idle", "0"), "'--idle'"),
        ((HAND, "--json", "no/such/folder/v.json"), "--json 'no/such/folder/v.json'"),
    ],
)
def test_what_cannot_be_served_is_one_line(looptck: Any, arguments: tuple[str, ...], line: str) -> None:
    ran = looptck("serve-model", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (4, "", 1)
    assert line in ran.err


def test_a_port_in_use_is_one_line(looptck: Any) -> None:
    with ModelServer() as other:
        port = urlsplit(other.script([])).port
        ran = looptck("serve-model", HAND, "--port", str(port))
    assert (ran.code, ran.err.count("\n")) == (4, 1)
    assert f"port {port} of 127.0.0.1 cannot be had: Address already in use" in ran.err


def test_a_scenario_with_a_held_reply_has_no_form_over_http(looptck: Any, tmp_path: Path) -> None:
    given = scenario()
    (run,) = given.invocations
    held = run.model_copy(update={"turns": (run.turns[0].model_copy(update={"hold": True}),)})
    ran = looptck("serve-model", written(given.model_copy(update={"invocations": (held,)}), tmp_path))
    assert (ran.code, ran.err.count("\n")) == (4, 1)
    assert "a reply over HTTP cannot be held" in ran.err


def test_the_help_tells_the_exit_codes(looptck: Any) -> None:
    text = " ".join(looptck("serve-model", "--help").out.split())
    assert "0 every must that was looked at holds · 1 a must failed · 2 nothing was asked" in text
