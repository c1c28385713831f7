"""The examples of the fakes' documentation, on its page and in the docstrings, run as they stand."""

from __future__ import annotations

import ast
import doctest
import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import looptck_fakes
from looptck_fakes import durable, gates, lesson4, model_app, provider, recorder, runners, server, stage, tools, turns

PAGE = Path(__file__).parents[2] / "docs" / "fakes.md"
MODULES = [durable, gates, lesson4, model_app, provider, recorder, runners, server, stage, tools, turns]


@dataclass(frozen=True)
class Example:
    """A block of Python on the page, under its heading; `line` is where its code starts."""

    heading: str
    line: int
    code: str

    def run(self) -> None:
        """Run it in a namespace of its own, with the page's lines in its tracebacks."""
        code = compile("\n" * (self.line - 1) + self.code, PAGE.name, "exec", dont_inherit=True)
        exec(code, {"__name__": "example"})  # noqa: S102 - the examples are ours


def examples(text: str) -> list[Example]:
    """The fenced blocks of Python of a page, in order."""
    found: list[Example] = []
    heading = ""
    for match in re.finditer(r"^#+ ([^\n]+)$|^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if match[1] is not None:
            heading = match[1]
        else:
            found.append(Example(heading, text.count("\n", 0, match.start()) + 2, match[2]))
    return found


# They name what the fakes take or give back; a user has no reason to write them.
NEVER_WRITTEN = {"Answer", "FakeSpan", "Held", "ModelRequest", "Outcome", "Record", "Reply"}
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = examples(TEXT)


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.heading for example in EXAMPLES])
def test_an_example_runs_by_itself(example: Example) -> None:
    example.run()


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.heading for example in EXAMPLES])
def test_an_example_asserts_what_it_shows(example: Example) -> None:
    assert any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(example.code)))


def test_every_block_of_python_is_taken_for_an_example() -> None:
    assert len(EXAMPLES) == TEXT.count("```python")
    assert len(EXAMPLES) * 2 == TEXT.count("```")


def test_a_broken_example_fails_at_its_line_of_the_page() -> None:
    (broken,) = examples("# A page\n\n```python\nanswer = 41\nassert answer == 42\n```\n")
    with pytest.raises(AssertionError) as caught:
        broken.run()
    assert caught.traceback[-1].lineno + 1 == 5


def made_in(module: ModuleType) -> set[str]:
    """The public names of a module that lists none: what was defined in it, and not what it imports."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    named = [node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    assigned = [
        node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
    ]
    return {name for name in [*named, *(ast.unparse(target) for target in assigned)] if not name.startswith("_")}


PUBLIC = {*looptck_fakes.__all__, *server.__all__, *made_in(lesson4)}


@pytest.mark.parametrize("name", sorted(PUBLIC - NEVER_WRITTEN))
def test_every_public_name_is_on_the_page(name: str) -> None:
    assert re.search(rf"\b{name}\b", TEXT)


def test_every_link_on_the_page_leads_to_a_heading() -> None:
    headings = re.findall(r"^#+ (.+)$", TEXT, re.MULTILINE)
    anchors = {re.sub(r"[^a-z0-9 ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\]\(#([^)]*)\)", TEXT)) <= anchors


@pytest.mark.parametrize("module", MODULES, ids=[module.__name__ for module in MODULES])
def test_the_examples_in_docstrings_are_right(module: ModuleType) -> None:
    done = doctest.testmod(module, raise_on_error=False, verbose=False)
    assert done.attempted > 0
    assert done.failed == 0


def classes() -> list[Any]:
    """The public classes that somebody makes an instance of; records are made by the fakes, errors are raised."""
    public = [getattr(looptck_fakes, name) for name in looptck_fakes.__all__]
    public += [getattr(server, name) for name in server.__all__]
    return [
        item
        for item in public
        if isinstance(item, type)
        and not issubclass(item, Exception)
        and item.__name__ not in NEVER_WRITTEN
        and "at" not in getattr(item, "__dataclass_fields__", ())
    ]


@pytest.mark.parametrize("item", classes(), ids=lambda item: str(item.__name__))
def test_every_class_has_an_example_in_its_docstring(item: Any) -> None:
    assert ">>> " in item.__doc__
