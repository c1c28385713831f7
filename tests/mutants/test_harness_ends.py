"""A run of mutants that is broken off: its children end with it, whoever still holds the error."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NoReturn

import pytest
from tests.mutants.shelf import CAP, HAND, ONE_MORE, PROFILE, SEED, patch, shelf_in, when_invoked

from looptck import children
from looptck_mutants.harness import Harness
from looptck_mutants.profiles import mutants_of
from looptck_mutants.project import reference_project

if TYPE_CHECKING:
    from pathlib import Path

    from looptck_mutants.outcome import MutantReport


def test_children_end_where_nobody_wants_the_next_fate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fifo = tmp_path / "held"
    os.mkfifo(fifo)
    monkeypatch.setattr(children, "now", lambda: 0.0)
    stays = f"import os; held = open({str(fifo)!r}, 'w'); print(os.getpid(), file=held, flush=True); list(iter(int, 1))"
    pids: list[int] = []

    def done(_report: MutantReport) -> NoReturn:
        with fifo.open(encoding="ascii") as held:
            pids.append(int(held.readline()))
        raise LookupError

    with shelf_in(tmp_path, HAND, CAP) as shelf:
        shelf.put("killed", patch(ONE_MORE))
        shelf.put("stays", patch(when_invoked(stays)))
        harness = Harness(reference_project(PROFILE), SEED, jobs=2)
        baseline = harness.baseline()
        with pytest.raises(LookupError) as caught:
            harness.run(mutants_of(PROFILE), baseline, done)
        assert caught.traceback
        with pytest.raises(ProcessLookupError):
            os.kill(pids[0], 0)
