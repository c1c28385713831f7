"""The stage: what is copied, what of an earlier run stays, and that nothing else is ever written to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from tests.mutants.stages import PLACE, SOURCE, finished, record, subject

from looptck.suite import PROFILES
from looptck_mutants.systematic.recording import record_file
from looptck_mutants.systematic.results import module_of
from looptck_mutants.systematic.running import environment
from looptck_mutants.systematic.settings import MUTATED, read_settings
from looptck_mutants.systematic.settings import PLACE as VARIABLE
from looptck_mutants.systematic.staging import StageError, _kit, make_stage, outline
from looptck_mutants.systematic.subject import MODULES, SubjectError, reference_subject, source_subject

META = f"{MUTATED}/{PLACE}.meta"


def kept(stage: Path) -> bool:
    return (stage / META).exists()


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    """A stage that was run in."""
    folder = tmp_path / "stage"
    make_stage(subject(), folder, 5, 0)
    finished(folder)
    record(folder, "fares.meter.x_total__mutmut_1")
    return folder


def test_a_stage_holds_the_package_the_tests_and_mutmuts_settings(tmp_path: Path) -> None:
    settings = make_stage(subject(), tmp_path / "new" / "stage", None, 9)
    folder = tmp_path / "new" / "stage"
    assert (folder / PLACE).read_text(encoding="utf-8") == SOURCE
    assert "test_suite" in (folder / "tests" / "test_looptck_suite.py").read_text(encoding="utf-8")
    mutmut = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mutmut"]
    assert (mutmut["source_paths"], mutmut["only_mutate"]) == (["fares"], [PLACE])
    assert read_settings(folder) == settings
    assert (settings.seed, settings.loop, settings.profile) == (9, "fares.meter:Meter", "lesson4")


def test_a_second_run_keeps_the_results_and_the_seed_and_writes_no_file_that_is_the_same(stage: Path) -> None:
    before = (stage / PLACE).stat().st_mtime_ns
    assert make_stage(subject(), stage, None, 77).seed == 5
    assert kept(stage)
    assert (stage / PLACE).stat().st_mtime_ns == before


@pytest.mark.parametrize("old", ["rides > 3", ") + 1"])
def test_after_an_edit_of_a_mutated_function_mutmut_finds_out_what_to_do_again(old: str, stage: Path) -> None:
    make_stage(subject(SOURCE.replace(old, f"{old}0")), stage, None, 0)
    assert kept(stage)
    assert f"{old}0" in (stage / PLACE).read_text(encoding="utf-8")


@pytest.mark.parametrize("old", ["BASE = 4", "BASE // 2"])
def test_after_an_edit_outside_the_mutated_functions_the_module_is_done_again(old: str, stage: Path) -> None:
    make_stage(subject(SOURCE.replace(old, f"{old}0")), stage, None, 0)
    assert not kept(stage)
    assert record_file(stage, "fares.meter.x_total__mutmut_1").exists()


def test_another_seed_or_another_file_of_the_package_starts_anew(stage: Path) -> None:
    make_stage(subject(), stage, 6, 0)
    assert not kept(stage)
    finished(stage)
    make_stage(subject(other={"fares/prices.py": b"A = 1\n"}), stage, 6, 0)
    assert not kept(stage)
    assert not record_file(stage, "fares.meter.x_total__mutmut_1").exists()


def test_every_module_of_ours_that_takes_part_in_recording_is_one_that_results_rest_on() -> None:
    """All that they import, in a process of its own: this one has imported more."""
    code = (
        "import sys, looptck_mutants.systematic.recording; "
        "print(*(name for name in sys.modules if name.startswith('looptck_mutants.')))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(ran.stdout.split())
    assert "looptck_mutants.suites.assertion" in imported
    covered = {module_of(place.replace(".", "/", place.count(".") - 1)) for place in _kit(suite=False)}
    assert imported - covered == set()


@pytest.mark.parametrize("place", ["tariff.py", "prices/__init__.py", "prices/by/night.py"])
def test_after_an_edit_of_a_module_beside_the_source_everything_is_done_again(place: str, tmp_path: Path) -> None:
    """What the source imports from there is in no copy, and the verdicts rest on it."""
    helper, stage = tmp_path / place, tmp_path / "stage"
    helper.parent.mkdir(parents=True, exist_ok=True)
    helper.write_text("A = 1\n", encoding="utf-8")
    beside = replace(subject(), beside=tmp_path)
    make_stage(beside, stage, 5, 0)
    finished(stage)
    make_stage(beside, stage, 5, 0)
    assert kept(stage)
    helper.write_text("A = 2\n", encoding="utf-8")
    make_stage(beside, stage, 5, 0)
    assert not kept(stage)


def test_what_else_is_beside_the_source_or_is_the_source_itself_starts_nothing_anew(tmp_path: Path) -> None:
    stage = tmp_path / "stage"
    beside = replace(subject(), beside=tmp_path)
    make_stage(beside, stage, 5, 0)
    finished(stage)
    for place in ("fares/meter.py", "notes.txt", "env/pyvenv.cfg", "env/lib/site.py", "my-notes/a.py", ".git/hook.py"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("", encoding="utf-8")
    make_stage(beside, tmp_path / "other", 5, 0)
    make_stage(beside, stage, 5, 0)
    assert kept(stage)


def test_which_tests_reach_what_is_learnt_anew_in_each_run(stage: Path) -> None:
    stats = stage / MUTATED / "mutmut-stats.json"
    stats.write_text("{}", encoding="utf-8")
    make_stage(subject(), stage, None, 0)
    assert not stats.exists()


def test_a_folder_with_something_else_in_it_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "diary.txt").write_text("dear", encoding="utf-8")
    with pytest.raises(StageError, match=r"is no stage of an earlier run, and not empty: give another folder$"):
        make_stage(subject(), tmp_path, None, 0)
    assert [path.name for path in tmp_path.iterdir()] == ["diary.txt"]


def test_a_stage_that_cannot_be_made_is_told_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StageError, match=r"Not a directory|not empty"):
        make_stage(subject(), tmp_path / "file" / "stage", None, 0)


def test_an_outline_leaves_out_the_functions_that_mutmut_compares() -> None:
    compared = {"x_total", "xǁMeterǁfare"}
    assert outline(SOURCE, compared) == outline(SOURCE.replace("rides > 3", "rides").replace("+ 1", ""), compared)
    assert outline(SOURCE, compared) != outline(SOURCE.replace("// 2", "// 3"), compared)
    assert outline(SOURCE, set()) != outline(SOURCE.replace("rides > 3", "rides"), set())


def test_the_users_folder_comes_last_on_the_path_and_no_bytecode_is_written() -> None:
    ours = {"PYTHONPATH": "first", "HOME": "kept"}
    told = environment(ours, Path("stage"), Path("beside"))
    assert told["PYTHONPATH"].split(os.pathsep) == ["first", "beside"]
    assert (told["PYTHONDONTWRITEBYTECODE"], told[VARIABLE], told["HOME"]) == ("1", "stage", "kept")
    assert environment({}, Path("stage"), None)["PYTHONPATH"] == ""


@pytest.mark.parametrize("name", ["PYTEST_ADDOPTS", "PYTEST_PLUGINS", "LOOPTCK_X", "MUTANT_UNDER_TEST", "FORCE_COLOR"])
def test_what_is_meant_for_pytest_or_the_kit_does_not_reach_a_run(name: str) -> None:
    assert name not in environment({name: "x"}, Path("stage"), None)


@pytest.mark.parametrize("profile", PROFILES)
def test_of_the_reference_the_modules_of_the_loop_are_mutated_and_the_whole_package_is_copied(profile: str) -> None:
    reference = reference_subject(profile)
    assert set(reference.mutated) == {f"looptck_reference/{name}.py" for name in MODULES[profile]}
    assert set(reference.mutated) < set(reference.files)
    assert "looptck_reference/registry.py" in reference.files
    assert not [place for place in reference.files if "__pycache__" in place]


def test_a_file_is_mutated_alone_and_a_package_but_for_its_tests(tmp_path: Path) -> None:
    package = tmp_path / "fares"
    (package / "tests").mkdir(parents=True)
    for name in ("__init__.py", "meter.py", "data.json", "tests/test_meter.py", "tests/conftest.py", ".hidden.py"):
        (package / name).write_text("", encoding="utf-8")
    whole = source_subject(str(package), "lesson4", "fares.meter:Meter", str(package / "tests"))
    assert set(whole.mutated) == {"fares/__init__.py", "fares/meter.py"}
    assert set(whole.files) - set(whole.mutated) == {
        "fares/data.json",
        "fares/tests/test_meter.py",
        "fares/tests/conftest.py",
    }
    assert set(whole.tests) == {"tests/test_meter.py", "tests/conftest.py"}
    assert (whole.loop, whole.beside) == ("fares.meter:Meter", tmp_path)
    alone = source_subject(str(package / "meter.py"), "ag03", "Loop")
    assert (alone.loop, alone.mutated, dict(alone.tests)) == ("meter:Loop", ("meter.py",), {})
    assert source_subject(str(package), "ag03").loop == "fares:Agent"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.py", r"--source .*none\.py: there is no such file or folder"),
        ("my-loop.py", "can be imported under its name"),
        ("tests", "can be imported under its name"),
        ("loop.txt", "can be imported under its name"),
        ("empty", "there is no Python file in it"),
    ],
)
def test_what_cannot_be_mutated_is_refused_in_a_line(name: str, message: str, tmp_path: Path) -> None:
    for file in ("my-loop.py", "loop.txt"):
        (tmp_path / file).write_text("", encoding="utf-8")
    for folder in ("tests", "empty"):
        (tmp_path / folder).mkdir()
    with pytest.raises(SubjectError, match=message):
        source_subject(str(tmp_path / name), "lesson4")


def test_a_source_that_is_not_utf8_is_refused_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_bytes(b"# \xff\n")
    with pytest.raises(SubjectError, match=r"^loop\.py is not UTF-8$"):
        source_subject(str(tmp_path / "loop.py"), "lesson4").sources()


def test_settings_of_another_form_are_no_stage(tmp_path: Path) -> None:
    (tmp_path / "looptck-stage.json").write_text(json.dumps({"seed": 1}), encoding="utf-8")
    with pytest.raises(ValueError, match="missing"):
        read_settings(tmp_path)
