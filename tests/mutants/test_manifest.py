"""The manifest of the mutants: what a good one gives, and the one line that each wrong one gets."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pydantic
import pytest

from looptck_mutants.manifest import Killer, ManifestError, Mutant, load_manifest

if TYPE_CHECKING:
    from pathlib import Path

CHECKS = {
    "max-iter/model-calls": "TestMaxIterStops",
    "max-iter/error": "TestMaxIterStops",
    "gate/denied-text": "TestGateVerdicts",
}
S01 = """
[[mutant]]
id = "s01"
title = "cap looked at after the call"
pitfall = 1
patch = "s01-cap.patch"
killer = { test = "TestMaxIterStops", check = "max-iter/model-calls" }
"""
X01 = """
[[mutant]]
id = "x01"
title = "denied text without its reason"
pitfall = "denial"
patch = "x01-text.patch"
killer = { test = "TestGateVerdicts", check = "gate/denied-text" }
"""
X02 = """
[[mutant]]
id = "x02"
title = "slots counted from one"
patch = "x02-slots.patch"
equivalent = "the slot numbers never leave the loop"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "ag03"
    folder.mkdir()
    for name in ("s01-cap.patch", "x01-text.patch", "x02-slots.patch"):
        (folder / name).write_text("a patch")
    (folder / "manifest.toml").write_text(S01 + X01 + X02)
    return folder


def refusal(folder: Path, manifest: str) -> str:
    (folder / "manifest.toml").write_text(manifest)
    with pytest.raises(ManifestError) as caught:
        load_manifest(folder, CHECKS)
    text = str(caught.value)
    assert text.startswith("ag03/manifest.toml: ")
    assert "\n" not in text
    return text.removeprefix("ag03/manifest.toml: ")


def test_the_mutants_come_in_the_order_of_the_manifest(folder: Path) -> None:
    s01, x01, x02 = load_manifest(folder, CHECKS)
    assert s01 == Mutant(
        id="s01",
        title="cap looked at after the call",
        patch="s01-cap.patch",
        pitfall=1,
        killer=Killer(test="TestMaxIterStops", check="max-iter/model-calls"),
    )
    assert (x01.id, x01.pitfall, x01.equivalent) == ("x01", "denial", None)
    assert (x02.pitfall, x02.killer, x02.equivalent) == (None, None, "the slot numbers never leave the loop")


def test_a_manifest_is_read_from_inside_a_wheel(folder: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "kit.whl", "w") as wheel:
        for file in folder.iterdir():
            wheel.write(file, f"patches/ag03/{file.name}")
    with zipfile.ZipFile(tmp_path / "kit.whl") as wheel:
        assert load_manifest(zipfile.Path(wheel, "patches/ag03/"), CHECKS) == load_manifest(folder, CHECKS)


def test_other_files_of_the_folder_do_not_matter(folder: Path) -> None:
    (folder / "__init__.py").write_text("")
    assert len(load_manifest(folder, CHECKS)) == 3


def test_a_mutant_cannot_be_changed(folder: Path) -> None:
    mutant = load_manifest(folder, CHECKS)[0]
    with pytest.raises(pydantic.ValidationError, match="frozen"):
        mutant.title = "another"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("pitfall = 1", "pitfal = 1", "mutant 1 (s01): pitfal: unknown key"),
        ('check = "max-iter/model-calls"', 'chek = ""', "mutant 1 (s01): killer.chek: unknown key"),
        (', check = "max-iter/model-calls"', "", "mutant 1 (s01): killer.check: missing"),
        ("check = ", 'why = "", check = ', "mutant 1 (s01): killer.why: unknown key"),
        ('title = "denied text without its reason"\n', "", "mutant 2 (x01): title: missing"),
        (
            'title = "denied text without its reason"',
            "title = 3",
            "mutant 2 (x01): title: Input should be a valid string",
        ),
        ('title = "denied text without its reason"', 'title = " "', "mutant 2 (x01): title: String should match"),
        ('id = "x01"\n', "", "mutant 2: id: missing"),
        ('id = "x01"', 'id = "X 1"', "mutant 2 (X 1): id: String should match"),
        ("pitfall = 1", "pitfall = 0", "mutant 1 (s01): pitfall: expected a number from 1 or a word, there is 0"),
        ("pitfall = 1", "pitfall = ' '", "mutant 1 (s01): pitfall: expected a number from 1 or a word, there is ' '"),
        ("pitfall = 1", "pitfall = true", "mutant 1 (s01): pitfall: expected a number from 1 or a word, there is True"),
        ("pitfall = 1", "pitfall = 1.5", "mutant 1 (s01): pitfall: expected a number from 1 or a word, there is 1.5"),
        ('"s01-cap.patch"', '"../s01-cap.patch"', "mutant 1 (s01): patch: String should match pattern"),
        ('"s01-cap.patch"', '"s01-cap.diff"', "mutant 1 (s01): patch: String should match pattern"),
        (
            'equivalent = "the slot numbers never leave the loop"\n',
            "",
            "mutant 3 (x02): expected a killer, or the argument that makes it equivalent; there are neither",
        ),
        (
            "equivalent =",
            'killer = { test = "TestGateVerdicts", check = "gate/denied-text" }\nequivalent =',
            "mutant 3 (x02): expected a killer, or the argument that makes it equivalent; there are both",
        ),
    ],
)
def test_a_malformed_entry_is_refused_with_its_key(folder: Path, old: str, new: str, message: str) -> None:
    manifest = S01 + X01 + X02
    assert old in manifest
    assert refusal(folder, manifest.replace(old, new, 1)).startswith(message)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('id = "x01"', 'id = "s01"', "mutant 2 (s01): id: already taken by mutant 1"),
        (
            '"x01-text.patch"',
            '"s01-cap.patch"',
            "mutant 2 (x01): patch: 's01-cap.patch' already belongs to mutant 1",
        ),
        (
            '"s01-cap.patch"',
            '"s01-kap.patch"',
            "mutant 1 (s01): patch: no file 's01-kap.patch' in the folder (is it 's01-cap.patch'?)",
        ),
        (
            "TestMaxIterStops",
            "TestMaxIterStop",
            "mutant 1 (s01): killer.test: unknown test 'TestMaxIterStop' (is it 'TestMaxIterStops'?)",
        ),
        (
            "max-iter/model-calls",
            "max-iter/model-call",
            "mutant 1 (s01): killer.check: unknown check 'max-iter/model-call' (is it 'max-iter/model-calls'?)",
        ),
        ("max-iter/model-calls", "zzz", "mutant 1 (s01): killer.check: unknown check 'zzz'"),
        (
            "gate/denied-text",
            "max-iter/error",
            "mutant 2 (x01): killer.check: 'max-iter/error' belongs to TestMaxIterStops, not to TestGateVerdicts",
        ),
    ],
)
def test_an_entry_that_does_not_hold_is_refused_with_its_key(folder: Path, old: str, new: str, message: str) -> None:
    manifest = S01 + X01 + X02
    assert old in manifest
    assert refusal(folder, manifest.replace(old, new, 1)) == message


def test_a_patch_file_that_no_entry_names_is_refused(folder: Path) -> None:
    assert refusal(folder, S01 + X02) == "patch file 'x01-text.patch' is named by no entry"


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("", "mutant: missing"),
        ("mutant = []", "mutant: "),
        ("mutant = [3]", "mutant 1: "),
        ('[mutant]\nid = "s01"', "mutant: Input should be a valid tuple"),
        (S01 + '[profile]\nname = "ag03"', "profile: unknown key"),
    ],
)
def test_a_manifest_of_another_shape_is_refused(folder: Path, manifest: str, message: str) -> None:
    assert refusal(folder, manifest).startswith(message)


@pytest.mark.parametrize(
    ("manifest", "line"),
    [
        (S01 + "\n[[mutant]]\nid s02\n", "at line 10, column 4"),
        (S01 + '\n[[mutant]]\nid = "s02', "at line 10, the end of the file"),
        (S01.replace("pitfall", "title"), "at line 5, column 10"),
    ],
)
def test_invalid_toml_is_refused_with_its_line(folder: Path, manifest: str, line: str) -> None:
    message = refusal(folder, manifest)
    assert message.startswith("not TOML: ")
    assert line in message


def test_a_manifest_that_is_missing_or_not_utf8_is_refused(folder: Path) -> None:
    file = folder / "manifest.toml"
    file.write_bytes(b'title = "\xff"')
    with pytest.raises(ManifestError, match=r"^ag03/manifest\.toml: not UTF-8: invalid start byte at byte 9$"):
        load_manifest(folder, CHECKS)
    file.unlink()
    with pytest.raises(ManifestError, match=r"^ag03/manifest\.toml: cannot be read: No such file or directory$"):
        load_manifest(folder, CHECKS)
