"""The distribution: a wheel with the four packages whole and nothing else, which is built without fetching anything."""

from __future__ import annotations

import email
import tomllib
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement
from tests.packaging.building import PACKAGES, ROOT, build

import looptck

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import Message


@pytest.fixture(scope="module")
def wheel(wheel_file: Path) -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(wheel_file) as opened:
        yield opened


def in_wheel(wheel: zipfile.ZipFile) -> set[str]:
    return {name for name in wheel.namelist() if ".dist-info/" not in name}


def in_tree() -> set[str]:
    """The files of the packages, but for what running them leaves behind."""
    return {
        path.relative_to(ROOT / folder).as_posix()
        for folder, package in PACKAGES.items()
        for path in (ROOT / folder / package).rglob("*")
        if path.is_file()
        and not any(part == "__pycache__" or part.startswith(".") for part in path.parts[len(ROOT.parts) :])
    }


def metadata(wheel: zipfile.ZipFile, name: str) -> str:
    (path,) = (path for path in wheel.namelist() if path.endswith(f".dist-info/{name}"))
    return wheel.read(path).decode()


def core_metadata(wheel: zipfile.ZipFile) -> Message:
    return email.message_from_string(metadata(wheel, "METADATA"))


def test_the_wheel_holds_the_packages_whole_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    assert in_wheel(wheel) == in_tree()


@pytest.mark.parametrize(("folder", "pattern"), [(folder, "*") for folder in PACKAGES] + [("mutants", "*.patch")])
def test_each_package_brings_files(folder: str, pattern: str, wheel: zipfile.ZipFile) -> None:
    """So that the comparison above never compares nothing with nothing."""
    package = PACKAGES[folder]
    assert [name for name in in_wheel(wheel) if Path(name).match(pattern) and name.startswith(f"{package}/")]


@pytest.mark.parametrize("package", PACKAGES.values())
def test_each_package_says_that_it_is_typed(package: str, wheel: zipfile.ZipFile) -> None:
    assert f"{package}/py.typed" in in_wheel(wheel)


def test_the_wheel_brings_the_licence_and_the_command(wheel: zipfile.ZipFile) -> None:
    assert "Apache License" in metadata(wheel, "licenses/LICENSE")
    assert "looptck = looptck.__main__:main" in metadata(wheel, "entry_points.txt").splitlines()


def test_the_version_is_the_package_s_own(wheel: zipfile.ZipFile) -> None:
    assert core_metadata(wheel)["Version"] == looptck.__version__


def test_the_wheel_asks_for_the_run_time_libraries_only(wheel: zipfile.ZipFile) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = [
        f"{library}; extra == '{extra}'"
        for extra, libraries in project["optional-dependencies"].items()
        for library in libraries
    ]
    asked = core_metadata(wheel).get_all("Requires-Dist", [])
    assert {*map(Requirement, asked)} == {*map(Requirement, [*project["dependencies"], *optional])}
    assert core_metadata(wheel)["Requires-Python"] == ">=3.11"


def test_an_editable_install_is_a_static_path_file(tmp_path: Path) -> None:
    with zipfile.ZipFile(build("wheel:editable", tmp_path)) as editable:
        (path,) = in_wheel(editable)
        assert path.endswith(".pth")
        assert set(editable.read(path).decode().splitlines()) == {str(ROOT / folder) for folder in PACKAGES}
