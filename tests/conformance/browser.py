"""A headless Chromium for the tests of pages: opening a file, waiting for conditions, and what it logged or fetched."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from selenium.webdriver.remote.webelement import WebElement

PATIENCE = 20.0
"""Seconds to wait for a condition before it counts as never met."""
FLAGS = (
    "--headless=new",
    "--no-sandbox",  # it may run as root in a container, and opens our own pages only
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DEEP = """
let found = document;
for (const selector of arguments) {
  found = (found.shadowRoot ?? found).querySelector(selector);
  if (!found) return null;
}
return found;
"""
"""The element at the end of selectors that are looked up one in the other, in its shadow tree where it has one."""


class Browser:
    """A Chromium with one window."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, file: Path, fragment: str = "") -> None:
        """Open a file; what was logged and fetched before is forgotten."""
        self.driver.get("about:blank")
        self.logged()
        self.fetched()
        self.driver.get(f"{file.as_uri()}{fragment}")

    def wait(self, condition: Callable[[], Any]) -> Any:
        """What the condition gives, once that is true. Raises `TimeoutException`."""
        return WebDriverWait(self.driver, PATIENCE, poll_frequency=0.02).until(lambda _: condition())

    def deep(self, *selectors: str) -> WebElement:
        """An element in shadow trees, once it is there."""
        return cast("WebElement", self.wait(lambda: self.driver.execute_script(DEEP, *selectors)))

    def one(self, selector: str) -> WebElement:
        """The element, once it is there and visible."""

        def visible() -> WebElement | None:
            found = self.driver.execute_script("return document.querySelector(arguments[0])", selector)
            return found if found is not None and found.is_displayed() else None

        return cast("WebElement", self.wait(visible))

    def visible(self, selector: str) -> list[WebElement]:
        """All elements that are visible now."""
        return [found for found in self.driver.find_elements("css selector", selector) if found.is_displayed()]

    def logged(self) -> list[str]:
        """The errors on the console since the page was opened, or since the last question."""
        return [entry["message"] for entry in self._log("browser") if entry["level"] == "SEVERE"]

    def fetched(self) -> set[str]:
        """The addresses that were asked for since then; what a page brings along as `data:` is none."""
        events = [json.loads(entry["message"])["message"] for entry in self._log("performance")]
        sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
        addresses = {str(params["request"]["url"]).partition("#")[0] for params in sent}
        return {address for address in addresses if not address.startswith("data:")}

    def _log(self, kind: str) -> list[dict[str, Any]]:
        return cast("list[dict[str, Any]]", self.driver.get_log(kind))  # type: ignore[no-untyped-call]

    @contextmanager
    def sized(self, width: int, height: int) -> Iterator[None]:
        """While it is open, the page has this size."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        yield
        self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """A browser with a fresh profile in this folder. Skips where there is none, and fails there in CI."""
    program, driver = (shutil.which(name) for name in ("chromium", "chromedriver"))
    if program is None or driver is None:
        reason = "chromium and chromedriver are not both installed"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield Browser(started)
    finally:
        started.quit()
