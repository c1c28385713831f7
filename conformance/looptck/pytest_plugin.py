"""The pytest plugin: options, and nothing else until somebody asks for the suite.

Every run of pytest imports this module wherever the kit is installed. So it imports the standard library alone, has no
hook but the two that a question takes, and loads the plugin itself (`looptck.pytest_suite`) when the answer is yes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from pathlib import Path

    import pytest

SUITE = "looptck.suite"
"""What is collected: `pytest --pyargs looptck.suite`."""
OPTIONS = {
    "loop": ("TARGET", "the loop that looptck.suite judges: whatever `looptck check` takes"),
    "loop_profile": ("NAME", "the specification: ag03 (the default) or lesson4"),
    "loop_seed": ("N", "seed of the scenarios' values; drawn and printed where not given"),
    "loop_isolation": ("HOW", "fork, process, or none: this process, for debuggers"),
    "loop_limit": ("SECONDS", "real time for one scenario (10)"),
    "loop_requirements": ("N", "version of the requirements that decides; newer checks are news"),
    "loop_scenarios": ("DIR", "scenario files to judge it on too, as looptck check --scenarios does"),
    "loop_fuzz": ("N", "so many scenarios of the fuzzer to judge it on too"),
    "loop_known_failures": ("FILE", "check ids and reasons, as TOML: these may fail, and have to"),
}
"""Every option as its keyword in the ini file, with its placeholder and help; on the command line with hyphens."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options and their twins of the ini file. Values are text, which the plugin itself reads."""
    group = parser.getgroup("looptck", "conformance of agent loops (looptck)")
    for name, (placeholder, told) in OPTIONS.items():
        try:  # noqa: SIM105 - contextlib would be one more import for everybody
            group.addoption(f"--{name.replace('_', '-')}", dest=name, metavar=placeholder, default=None, help=told)
        except ValueError:  # another plugin has an option of that name: `-o loop=TARGET` is left
            pass
        parser.addini(name, told, default=None)


def pytest_configure(config: pytest.Config) -> None:
    """Load the plugin itself where the suite or a loop is named."""
    named = any(str(argument).partition("::")[0] == SUITE for argument in config.args)
    if named or config.getoption("loop", None) or config.getini("loop"):
        from looptck.pytest_suite.plugin import register  # noqa: PLC0415 - nobody else pays for it

        register(config)


def conformance(
    loop: Any,
    *,
    here: str | os.PathLike[str],
    profile: str = "ag03",
    requirements: int | None = None,
    known_failures: str | None = None,
) -> Callable[[Path, pytest.Collector], pytest.Collector | None]:
    """The hook `pytest_collect_file` for a conftest.py whose folder is to hold the suite on a loop of its own.

    `loop` is a class that meets the contract of the profile, a callable that returns one or an adapter, an adapter, or
    a target as `looptck check` takes it (a file is looked for beside the conftest.py). `here` is the conftest's
    `__file__`. `requirements` and `known_failures` (a file beside the conftest.py) hold for this loop alone; where they
    are not given, the options do.
    """

    def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        import os.path  # noqa: PLC0415 - only where there is such a conftest

        if file_path.name != os.path.basename(here) or not os.path.samefile(file_path, here):  # noqa: PTH119, PTH121
            return None
        from looptck.pytest_suite.embedded import Request, embed  # noqa: PLC0415 - likewise

        return embed(file_path, parent, Request(loop, profile, requirements, known_failures))

    return pytest_collect_file
