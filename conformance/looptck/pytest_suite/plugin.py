"""The plugin itself, in a run that asks for it: `looptck.suite` as a folder of items, the header, one seed for all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import looptck
from looptck.pytest_plugin import SUITE
from looptck.pytest_suite.items import FUZZED, MARKERS, CheckError, item_name, items, without_traceback
from looptck.pytest_suite.settings import SEED, given, known_target, seed_of, settings
from looptck.pytest_suite.suite import Suite
from looptck.target import Loader

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

NAME = "looptck-suite"
"""What the plugin is registered as."""
_KIT = Path(looptck.__file__).parent
_PATH = _KIT / "suite"


class Plugin:
    """The hooks. `suite` is the loop that the options name, if any; `embedded` are those of `conftests`."""

    def __init__(self, suite: Suite | None, chosen: frozenset[str]) -> None:
        self.suite = suite
        self.chosen = chosen
        self.embedded: list[Suite] = []
        self.conftests: set[Path] = set()

    def pytest_report_header(self) -> list[str]:
        """One line about the loop."""
        return [] if self.suite is None else [f"looptck: {self.suite.headline()}"]

    def pytest_report_collectionfinish(self) -> list[str]:
        """A line for each loop that a conftest brought along."""
        return [f"looptck: {suite.headline()}" for suite in self.embedded]

    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """The folder of the suite. Its own is none that pytest has to import anything of."""
        if path == _PATH and self.suite is not None:
            return SuiteFolder.from_parent(
                parent, path=path, name=SUITE, nodeid=SUITE, suite=self.suite, chosen=self.chosen
            )
        return pytest.Dir.from_parent(parent, path=path) if path == _KIT else None

    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> Any:
        """A conftest.py with a loop is no module of tests besides, where it is named on the command line."""
        return NoModule.from_parent(parent, path=module_path) if module_path in self.conftests else None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """What is wrong with a loop is no traceback, whether it was found in the setup or in the test."""
        report = yield
        if call.excinfo is not None and isinstance(call.excinfo.value, CheckError):
            report.longrepr = without_traceback(call.excinfo, call.excinfo.value.summary)
        return report

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Of pytest-xdist: hand the seed to a worker."""
        node.workerinput[SEED] = seed_of(node.config)


class SuiteFolder(pytest.Directory):
    """`looptck.suite`, called so wherever it is installed."""

    def __init__(self, *, suite: Suite, chosen: frozenset[str], **rest: Any) -> None:
        super().__init__(**rest)
        self.suite, self.chosen = suite, chosen

    def collect(self) -> Iterator[pytest.Item]:
        """The checks; those that the command line names, where it does."""
        for item in items(self, self.suite):
            if not self.chosen or self.chosen & {item.name, item.name.partition("[")[0]}:
                yield item


class NoModule(pytest.File):
    """Stands for a module that holds nothing."""

    def collect(self) -> tuple[()]:
        """Nothing."""
        return ()


def register(config: pytest.Config) -> None:
    """Read the options, and register the plugin. Raises `pytest.UsageError`, one line."""
    asked = given(config, "loop")
    if asked is None:
        raise pytest.UsageError(
            f"{SUITE} needs a loop to judge: --loop TARGET (a file, package.module:Name, reference)"
        )
    how = settings(config)
    target = known_target(asked, how.profile)
    suite = Suite(target.text, Loader(target, how.profile), how)
    _register(config, suite, _chosen(config, suite))


def plugin_of(config: pytest.Config) -> Plugin:
    """The plugin of this run, registered now where only conftest files have loops."""
    known = config.pluginmanager.get_plugin(NAME)
    return known if isinstance(known, Plugin) else _register(config, None, frozenset())


def _register(config: pytest.Config, suite: Suite | None, chosen: frozenset[str]) -> Plugin:
    for marker, told in MARKERS.items():
        config.addinivalue_line("markers", f"{marker}: {told}")
    plugin = Plugin(suite, chosen)
    config.pluginmanager.register(plugin, NAME)
    return plugin


def _chosen(config: pytest.Config, suite: Suite) -> frozenset[str]:
    """The names behind `looptck.suite::` on the command line, none where all is wanted.

    The suite is a folder, and pytest takes no names behind a folder: they are taken off here and chosen by the folder.
    """
    split = [str(argument).partition("::") for argument in config.args]
    config.args[:] = [place if place == SUITE else f"{place}{colons}{name}" for place, colons, name in split]
    chosen = {name for place, _, name in split if place == SUITE}
    known = {item_name(test, check) for test in suite.tests for check in test.checks}
    known |= {FUZZED} if suite.settings.fuzz else set()
    for name in chosen - known - {one.partition("[")[0] for one in known} - {""}:
        raise pytest.UsageError(
            f"there is no {SUITE}::{name} in {suite.profile.name}; --collect-only shows what there is"
        )
    return frozenset() if "" in chosen else frozenset(chosen)
