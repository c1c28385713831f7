"""The starter: the files that `looptck init` writes, by profile. Those of a loop are skeletons, to be filled in."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

LOOP = "my_loop.py"
"""What the skeleton is called where it is written."""
_SOURCES = {
    LOOP: "{profile}.py",
    "README.md": "{profile}.md",
    "requirements.txt": "requirements.txt",
    ".github/workflows/looptck.yml": "looptck.yml",
}
_PROFILE, _VERSION = "@profile@", "@version@"


def starter(profile: str, version: str) -> Mapping[str, str]:
    """The text of every file, by its path below the folder of the starter; `version` is that of the kit it asks for."""
    folder = files(__name__)
    texts = {path: (folder / name.format(profile=profile)).read_text("utf-8") for path, name in _SOURCES.items()}
    return {path: text.replace(_PROFILE, profile).replace(_VERSION, version) for path, text in texts.items()}
