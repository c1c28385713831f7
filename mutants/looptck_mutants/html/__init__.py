"""The mutants as one HTML page: the kill matrix, each mutant with its patch, and the source view of Stryker's elements.

The page fetches nothing, and its content security policy lets it run no script but the two that it comes with. Without
scripts all of it can be read but the source view.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from looptck import __version__
from looptck.report.text import visible
from looptck_mutants.html.view import columns_of, exhibits_of, outcome_of
from looptck_mutants.stryker import stryker_report

if TYPE_CHECKING:
    from collections.abc import Mapping

    from looptck_mutants.outcome import MutantsReport
    from looptck_mutants.project import Project

__all__ = ["mutants_html"]


def mutants_html(report: MutantsReport, project: Project, sources: Mapping[str, str]) -> str:
    """The page as text, to be written as UTF-8. The arguments, and what is raised, are those of `stryker_report`."""
    stryker = stryker_report(report, project, sources)
    exhibits = exhibits_of(report, project, stryker)
    script = _text("html", "templates", "script.js")
    elements = _text("vendor", "mutation-test-elements.js")
    pages = Environment(
        loader=PackageLoader(__name__),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return pages.get_template("mutants.html.jinja").render(
        report=report,
        project=project,
        version=__version__,
        outcome=outcome_of(report),
        exhibits=exhibits,
        tests=columns_of(exhibits),
        stryker=_json(stryker),
        style=_text("html", "templates", "style.css"),
        script=script,
        elements=elements,
        hashes=[_hash(elements), _hash(script)],
    )


def _visible(value: object) -> object:
    """Texts of a manifest and of tests, with nothing hidden in them; what the page itself comes with stays as it is."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _text(*parts: str) -> str:
    return files("looptck_mutants").joinpath(*parts).read_text(encoding="utf-8")


def _json(value: object) -> str:
    """JSON for inside a script element: ASCII, and without the character that could end the element."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _hash(script: str) -> str:
    """A script as the content security policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
