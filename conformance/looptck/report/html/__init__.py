"""The report of `looptck check` as one HTML file that needs no network: the page of `--html`."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from looptck.report.html.view import page_of
from looptck.report.text import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from looptck.judge import Observed
    from looptck.report.model import Report

__all__ = ["check_html"]

LONGEST = 2000
"""Characters of any one text on the page."""


def check_html(report: Report, observed: Mapping[str, Observed]) -> str:
    """The page of a report, with the observations that it was judged on, by test and scenario.

    The text can be encoded as UTF-8 whatever a loop has handed over, and holds nothing that a browser would fetch.
    """
    templates = files(__name__) / "templates"
    script = (templates / "script.js").read_text(encoding="utf-8")
    page = (
        _environment()
        .get_template("check.html.jinja")
        .render(
            page=page_of(report, observed),
            style=Markup((templates / "style.css").read_text(encoding="utf-8")),  # noqa: S704 - ours, and constant
            script=Markup(script),  # noqa: S704 - likewise
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )
    return visible(page)


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader(__name__),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_clipped,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _clipped(value: Any) -> Any:
    """A text of the report that is no longer than the page allows, its end kept; markup of the page's own as it is."""
    if isinstance(value, Markup) or not isinstance(value, str) or len(value) <= LONGEST:
        return value
    return f"{value[: LONGEST // 2]} … {len(value) - LONGEST} more characters … {value[-LONGEST // 2 :]}"
