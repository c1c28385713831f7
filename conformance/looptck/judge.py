"""From observations to verdicts: every check of a test is evaluated on the observations of its scenarios. Pure."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any, TypeAlias

from looptck.report.model import CheckReport, TestReport, Verdict, verdict_of, worst
from looptck.suite.model import UndecidedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from looptck.profile import Profile
    from looptck.requirements import Requirement
    from looptck.suite.model import Check, Finding, Test

Observed: TypeAlias = "Mapping[str, tuple[Any, Any]]"
"""Scenario and observation of one profile, by the scenario's name."""
_REMARKS = 2
"""A run that lacks one method lacks others too: the first tell enough."""
_BLAME: dict[str, Verdict] = {"loop": "fail", "limit": "incomplete", "target": "incomplete", "kit": "fault"}


def judge_test(
    profile: Profile,
    test: Test,
    checks: Sequence[Check],
    observed: Observed,
    requirements: Mapping[str, Requirement],
    lacks: Mapping[str, str],
    duration_s: float,
) -> TestReport:
    """Judge the chosen checks of a test.

    `observed` maps scenario names to scenario and observation, `lacks` the features that the adapter declares missing
    to its reasons. A check is as bad as its worst scenario.
    """
    reports = [_judge(profile, check, observed, requirements, lacks) for check in checks]
    return TestReport(
        name=test.name, section=test.section, verdict=verdict_of(reports), duration_s=duration_s, checks=reports
    )


def _judge(
    profile: Profile,
    check: Check,
    observed: Observed,
    requirements: Mapping[str, Requirement],
    lacks: Mapping[str, str],
) -> CheckReport:
    results = [_evaluate(profile, check, *observed[name], lacks) for name in check.on]
    verdict = worst([result["verdict"] for result in results])
    decisive = next(result for result in results if result["verdict"] == verdict)
    record = requirements[decisive.pop("broken", "") or check.requirement]
    return CheckReport(
        id=check.id,
        requirement=record.id,
        level=record.level,
        since=max(check.since, record.since),
        statement=check.statement,
        **decisive,
    )


def _evaluate(
    profile: Profile, check: Check, scenario: Any, observation: Any, lacks: Mapping[str, str]
) -> dict[str, Any]:
    """One check on one scenario, as the fields of a `CheckReport`."""
    for feature in sorted(scenario.features() & lacks.keys()):
        return {"verdict": "skip", "message": f"lacks {feature}: {lacks[feature]}", "scenario": scenario.name}
    obstacle = obstacle_of(profile, scenario, observation)
    if obstacle is not None:
        verdict, message = obstacle
        return {"verdict": verdict, "message": message, "scenario": scenario.name}
    evidence = profile.evidence(scenario, observation)
    try:
        finding = check.function(evidence)
    except UndecidedError as error:
        return {"verdict": "incomplete", "message": str(error), "scenario": scenario.name}
    except Exception:  # noqa: BLE001 - a check that raises is the kit's bug, never the loop's
        return {"verdict": "fault", "message": traceback.format_exc(), "scenario": scenario.name}
    return {
        "verdict": "pass" if finding.ok else "fail",
        "message": "" if finding.ok else _remark(finding, profile, evidence),
        "broken": finding.requirement,
        "expected": finding.expected,
        "seen": finding.seen,
        "alternatives": list(finding.alternatives),
        "scenario": scenario.name,
    }


def obstacle_of(profile: Profile, scenario: Any, observation: Any) -> tuple[Verdict, str] | None:
    """What keeps an observation from being judged: verdict and reason; None where nothing does."""
    if observation.died is not None:
        return _BLAME[observation.blame], observation.died
    return profile.obstacle(scenario, observation)


def _remark(finding: Finding, profile: Profile, evidence: Any) -> str:
    """What helps to understand a failed check beside expected and seen."""
    remarks = [finding.about] if finding.about else []
    remarks += profile.remarks(evidence)
    if len(remarks) > _REMARKS:
        remarks[_REMARKS:] = [f"and {len(remarks) - _REMARKS} more of the kind"]
    if finding.alternatives:
        remarks.append("other readings pass too: they stand below, and `looptck explain` tells them")
    return "; ".join(remarks)
