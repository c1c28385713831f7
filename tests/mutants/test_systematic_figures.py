"""The figures on the page are those that were recorded, of the references and the entries that are there."""

from __future__ import annotations

import pytest
from tests.mutants.systematic_figures import digest, recorded, shown, table

from looptck.suite import PROFILES
from looptck_mutants.systematic.triage import load_triage, own_triage


def test_the_page_shows_what_was_recorded() -> None:
    assert list(recorded()) == list(PROFILES)
    assert shown() == table(recorded())


@pytest.mark.parametrize("profile", PROFILES)
def test_what_got_away_was_explained_by_the_entries_that_are_there(profile: str) -> None:
    run = recorded()[profile]
    assert run["explained"] == sum(len(entry.changes) for entry in load_triage(own_triage(profile)))
    assert run["unexplained"] == 0


@pytest.mark.parametrize("profile", PROFILES)
def test_what_was_mutated_is_the_reference_that_is_there(profile: str) -> None:
    redo = f"{profile} or its entries changed since: run python -m tests.mutants.systematic_figures"
    assert recorded()[profile]["digest"] == digest(profile), redo
