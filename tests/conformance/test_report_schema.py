"""The JSON Schemas that ship: they are those of the models, they are sound, and what the commands write fits them."""

from __future__ import annotations

import copy
import json
import runpy
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from looptck import cli, schemas
from looptck.report.model import CHECK_SCHEMA
from looptck_mutants import schemas as mutants_schemas
from looptck_mutants.outcome import (
    MUTANTS_SCHEMA,
    Baseline,
    KillerReport,
    MutantReport,
    MutantsReport,
    counts_of,
)

TARGETS = Path(__file__).parent / "targets"
SHIPPED = [
    pytest.param(schemas.check_schema, schemas.check_text, CHECK_SCHEMA, id="check"),
    pytest.param(mutants_schemas.mutants_schema, mutants_schemas.mutants_text, MUTANTS_SCHEMA, id="mutants"),
]


def refusals(schema: dict[str, Any], instance: Any) -> list[str]:
    validator = jsonschema.Draft202012Validator(schema)
    return sorted(error.message for error in validator.iter_errors(instance))


def written(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """What `looptck check --json -` writes on standard output."""
    cli.run(["check", *arguments, "--json", "-"])
    return json.loads(capsys.readouterr().out)


# the files


@pytest.mark.parametrize(("shipped", "text", "identity"), SHIPPED)
def test_a_shipped_schema_is_that_of_its_model(shipped: Any, text: Any, identity: str) -> None:
    assert shipped() == json.loads(text()), (
        "a model has changed: run python -m looptck.schemas, or looptck_mutants.schemas"
    )
    assert shipped()["$id"] == identity


@pytest.mark.parametrize(("shipped", "text", "identity"), SHIPPED)
def test_a_shipped_schema_is_a_sound_one(shipped: Any, text: Any, identity: str) -> None:
    jsonschema.Draft202012Validator.check_schema(shipped())
    assert (shipped()["$schema"], bool(text), bool(identity)) == (schemas.DIALECT, True, True)


@pytest.mark.parametrize(("package", "name"), [(schemas, "check"), (mutants_schemas, "mutants")])
def test_a_schema_is_written_anew_by_running_its_package(
    package: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: dict[Path, str] = {}
    monkeypatch.setattr(Path, "write_text", lambda file, text, encoding: texts.update({file: text + encoding}))
    main = Path(package.__file__).with_name("__main__.py")
    runpy.run_path(str(main), run_name="__main__")  # by its path: pytest has a loader of its own for our modules
    file = Path(package.__file__).with_name(f"{name}.schema.json")
    assert texts == {file: file.read_text(encoding="utf-8") + "utf-8"}


# what is written


def test_the_report_on_the_reference_fits(capsys: pytest.CaptureFixture[str]) -> None:
    report = written(capsys, "reference", "-k", "TestS*")
    assert report["tests"][0]["name"] == "TestSystemPrompt"
    assert refusals(schemas.check_schema(), report) == []


@pytest.mark.parametrize("name", ["no_transcript", "exits_in_a_run", "needs_arguments", "does_not_import"])
def test_the_report_on_a_bad_loop_fits(capsys: pytest.CaptureFixture[str], name: str) -> None:
    report = written(capsys, str(TARGETS / f"{name}.py"), "-k", "TestParallelToolsBoundedOrderPreserved")
    assert report["verdict"] in {"fail", "incomplete"}
    assert refusals(schemas.check_schema(), report) == []


def test_the_report_on_mutants_fits() -> None:
    killer = KillerReport(test="TestSpans", check="spans/run")
    fields: dict[str, Any] = {"title": "t", "patch": "p.patch", "killer": killer, "killed_by": []}
    mutants = [
        MutantReport(id="s01", pitfall=1, verdict="killed", **fields),
        MutantReport(id="x01", pitfall=None, verdict="survived", message="it got away", **fields),
    ]
    report = MutantsReport(
        profile="ag03",
        seed=1,
        baseline=Baseline(verdict="pass", checks=3, wall_s=0.5),
        counts=counts_of(mutants),
        wall_s=1.5,
        mutants=mutants,
    )
    document = json.loads(report.model_dump_json(by_alias=True))
    assert refusals(mutants_schemas.mutants_schema(), document) == []
    assert refusals(schemas.check_schema(), document) != []


def test_the_keys_are_the_documented_ones(capsys: pytest.CaptureFixture[str]) -> None:
    report = written(capsys, "reference", "-k", "hand/answer")
    assert list(report) == [
        "schema", "kit", "target", "profile", "requirements", "seed", "isolation", "isolation_asked", "limit", "python",
        "verdict", "counts", "tests", "stale", "diagnosis",
    ]  # fmt: skip
    assert set(report["kit"]) == {"name", "version"}
    assert set(report["counts"]) == {"pass", "fail", "skip", "incomplete", "fault"}
    (test,) = report["tests"]
    assert set(test) >= {"name", "verdict", "duration_s", "checks"}
    assert set(test["checks"][0]) >= {"id", "requirement", "level", "verdict", "message", "expected", "seen"}


# what does not fit


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "looptck-check-2"),
        (("verdict",), "maybe"),
        (("seed",), "12"),
        (("isolation",), "jail"),
        (("counts", "pass"), None),
        (("tests", 0, "checks", 0, "level"), "may"),
        (("tests", 0, "checks", 0, "surprise"), 1),
        (("surprise",), 1),
    ],
)
def test_a_report_of_another_form_is_refused(
    capsys: pytest.CaptureFixture[str], path: tuple[str | int, ...], value: Any
) -> None:
    report = written(capsys, "reference", "-k", "hand/answer")
    changed = copy.deepcopy(report)
    *way, last = path
    place: Any = changed
    for step in way:
        place = place[step]
    place[last] = value
    assert refusals(schemas.check_schema(), report) == []
    assert len(refusals(schemas.check_schema(), changed)) == 1


@pytest.mark.parametrize("key", ["schema", "kit", "seed", "verdict", "counts", "tests"])
def test_a_report_that_lacks_something_is_refused(capsys: pytest.CaptureFixture[str], key: str) -> None:
    report = written(capsys, "reference", "-k", "hand/answer")
    del report[key]
    assert refusals(schemas.check_schema(), report) == [f"'{key}' is a required property"]
