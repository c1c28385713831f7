"""What the tests of the HTML report share: pages of loops and of made-up checks, and a parser that refuses bad HTML."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from looptck.observation import Observation
from looptck.profile import profile_of
from looptck.report.html import check_html
from looptck.report.model import CheckReport, Report, TestReport
from looptck.scenario import Invocation, Said, Scenario, Turn
from looptck.session import choose, judged, observe_all, report
from looptck.target import REFERENCES, parse_target

SEED = 7
SEA = Scenario(name="sea", invocations=(Invocation(messages=(Said(content="Ahoy"),), turns=(Turn(),)),))
VOID = {"br", "hr", "img", "input", "link", "meta"}
EMPTY_IN_SVG = {"path", "rect"}
INLINE = {"a", "abbr", "code", "strong"}


class Page(HTMLParser):
    """The elements of a page, each with its attributes and all text in it. Raises `AssertionError` for bad nesting."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []
        self._open: list[tuple[str, dict[str, str], list[str]]] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"<{tag}> has an attribute twice"
        element = (tag, {name: value or "" for name, value in attrs}, list[str]())
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in EMPTY_IN_SVG, f"<{tag}/>"
        self.elements.append((tag, {name: value or "" for name, value in attrs}, []))

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop()[0] == tag, f"</{tag}> closes another"
        if tag not in INLINE and tag != "script":
            self.handle_data(" ")

    def handle_data(self, data: str) -> None:
        for _, _, texts in self._open:
            texts.append(data)

    def all(self, tag: str, css: str = "") -> list[tuple[dict[str, str], str]]:
        """Attributes and text of the elements of a name, with all these classes."""
        wanted = set(css.split())
        return [
            (attributes, "".join(texts))
            for name, attributes, texts in self.elements
            if name == tag and wanted <= set(attributes.get("class", "").split())
        ]

    def texts(self, tag: str, css: str = "") -> list[str]:
        """Their texts, each in one line."""
        return [" ".join(text.split()) for _, text in self.all(tag, css)]


def html_of(target: str, pattern: str, *, profile: str = "ag03") -> str:
    """The page of a loop, observed in this process."""
    chosen = choose(profile, pattern, SEED)
    found = parse_target(target, {"reference": REFERENCES[profile]})
    done = observe_all(chosen, lambda: found.load(profile_of(profile).adapt), isolation="none")
    whole = report([judged(test, {}) for test in done], target=target, profile=profile, seed=SEED, isolation="fork")
    return check_html(whole, {test.test.name: test.observed for test in chosen})


def made_up(
    *checks: CheckReport, scenario: Scenario = SEA, observation: Observation | None = None, **fields: Any
) -> str:
    """The page of checks that were made up, all of one test."""
    test = TestReport(name="TestSea", section="9", verdict="fail", duration_s=0, checks=list(checks))
    whole = report([], target="loop.py", profile="ag03", seed=SEED, isolation="fork")
    whole = Report.model_validate(whole.model_dump() | {"tests": [test]} | fields)
    return check_html(whole, {"TestSea": {"sea": (scenario, observation or Observation("sea"))}})


def check(**fields: Any) -> CheckReport:
    """A failed check."""
    given = {"id": "sea/ship", "requirement": "r", "level": "must", "verdict": "fail", "message": "", "scenario": "sea"}
    return CheckReport.model_validate({**given, "statement": "A ship is seen.", **fields})
