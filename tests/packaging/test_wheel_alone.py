"""The wheel without the checkout: both verbs pass where nothing but the wheel and its libraries is installed."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.packaging.building import PACKAGES, ROOT

ORIGINS = """
import importlib.util, sys
for name in sys.argv[1:]:
    print(importlib.util.find_spec(name).origin)
"""


class Installed(NamedTuple):
    """An environment with the wheel, and an empty folder to work in."""

    environment: Path
    folder: Path

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Python of that environment, with nothing of ours in its own."""
        return subprocess.run(
            [self.environment / "bin" / "python", *arguments],
            cwd=self.folder,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder)},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="module")
def installed(wheel_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel is installed as a user would, but the libraries are those of the running environment.

    Python reads the path file of a folder of packages only where that folder is itself one of the environment's: named
    in a path file, as here, the folder brings its packages and not the editable install of this checkout.
    """
    root = tmp_path_factory.mktemp("alone")
    environment, folder = root / "venv", root / "empty"
    folder.mkdir()
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--isolated", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel_file)], check=True)
    own = sysconfig.get_path("purelib", "venv", {"base": str(environment)})
    libraries = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    Path(own, "libraries.pth").write_text("\n".join(sorted(libraries)), encoding="utf-8")
    return Installed(environment, folder)


def modules(wheel_file: Path) -> list[str]:
    """The names of all modules in the wheel."""
    with zipfile.ZipFile(wheel_file) as wheel:
        files = [Path(name) for name in wheel.namelist() if name.endswith(".py")]
    return [".".join(file.with_suffix("").parts).removesuffix(".__init__") for file in files]


def test_every_module_comes_from_the_wheel(installed: Installed, wheel_file: Path) -> None:
    names = modules(wheel_file)
    ran = installed.run("-c", ORIGINS, *names)
    assert ran.returncode == 0, ran.stderr
    origins = [Path(line) for line in ran.stdout.splitlines()]
    assert len(origins) == len(names) > len(PACKAGES)
    assert [file for file in origins if not file.is_relative_to(installed.environment)] == []


def test_no_folder_of_the_checkout_is_on_the_path(installed: Installed) -> None:
    ran = installed.run("-c", "import sys; print(*sys.path, sep='\\n')")
    assert sysconfig.get_path("purelib") in ran.stdout.splitlines()
    assert {str(ROOT), *(str(ROOT / folder) for folder in PACKAGES)} & set(ran.stdout.splitlines()) == set()


@pytest.mark.parametrize("profile", ["ag03", "lesson4"])
def test_the_reference_passes(profile: str, installed: Installed) -> None:
    ran = installed.run("-m", "looptck", "check", "reference", "--profile", profile)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    assert ran.stdout.splitlines()[-1].startswith(f"PASS reference against {profile}: ")


@pytest.mark.parametrize(("profile", "ids"), [("ag03", ["s01", "x001"]), ("lesson4", ["l01"])])
def test_mutants_are_killed(profile: str, ids: list[str], installed: Installed) -> None:
    ran = installed.run("-m", "looptck", "mutants", "--profile", profile, *ids)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    assert ran.stdout.splitlines()[-1].endswith(f"s: {len(ids)} killed")
