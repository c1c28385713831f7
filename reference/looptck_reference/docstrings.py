"""Read what a docstring says of a tool and of its parameters, in Google, numpy or Sphinx style."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from griffe import DocstringSection

__all__ = ["Documentation", "read_docstring"]


@dataclass(frozen=True, slots=True)
class Documentation:
    """What a docstring says: the prose without its sections, and one line for each parameter that it describes."""

    description: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


def read_docstring(text: str, parameters: Collection[str] = ()) -> Documentation:
    """The documentation in a docstring that has been cleaned of its indentation.

    The style is not declared but found: it is the one in which the most of `parameters` are described, then the one
    that finds the most sections. Returns, raises and examples are left out; notes and warnings stay in the prose.
    """
    text = text.strip()
    if "\n" not in text and not text.startswith(":"):
        return Documentation(text)  # one line has no sections, and the parsers cost as much to import as pydantic
    readings = (_documentation(sections) for sections in _sections_by_style(text))
    wanted = set(parameters)
    return max(readings, key=lambda reading: len(wanted & reading.parameters.keys()))


def _sections_by_style(text: str) -> list[list[DocstringSection]]:
    """The sections as each of the styles sees them, most sections first."""
    from griffe import Docstring, parse_google, parse_numpy, parse_sphinx  # noqa: PLC0415 - see `read_docstring`

    docstring = Docstring(f"\n{text}")  # cleaned once more, and a first line would be cleaned apart from the rest
    parsed = [parse(docstring, warnings=False) for parse in (parse_google, parse_numpy, parse_sphinx)]
    return sorted(parsed, key=len, reverse=True)


def _documentation(sections: list[DocstringSection]) -> Documentation:
    """Keep the prose and the parameters of parsed sections."""
    prose: list[str] = []
    described: dict[str, str] = {}
    for section in sections:
        kind = section.kind.value
        if kind == "text":
            prose.append(section.value)
        elif kind == "admonition":
            prose.append(f"{section.title or section.value.kind}: {section.value.contents}")
        elif kind in {"parameters", "other parameters"}:
            described.update({item.name: " ".join(item.description.split()) for item in section.value})
    return Documentation("\n\n".join(part.strip() for part in prose), described)
