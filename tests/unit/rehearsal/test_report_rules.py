"""What the report says of rules and of exemptions from them."""

from dataclasses import replace
from datetime import date
from typing import Any

from policies.configuration import Exemption, configure
from policies.environment import Environment
from policies.exemptions import exemption_statuses
from policies.rules import ALL
from policies.verdicts import Finding, Resource, State
from rehearsal import report_builder
from rehearsal.report import Report
from tests.support.rehearsal.reports import text

RULE = ALL[0].id


def test_every_rule_is_listed_and_held(whole: Report) -> None:
    held = [verdict.rule for verdict in whole.verdicts if verdict.state == "held"]
    assert held == [rule.id for rule in ALL]


def test_every_exemption_is_listed_with_its_use(environment: Environment) -> None:
    def exempt(resource: str, until: str) -> dict[str, str]:
        return {"resource": resource, "owner": "desk", "reason": "warm-up", "until": until}

    listed = [
        exempt("Queue/burst", "2026-12-31"),
        exempt("Queue/other", "2027-01-01"),
        exempt("Queue/old", "2026-11-20"),
    ]
    (configured,) = configure({RULE: {"exemptions": listed}}, [ALL[0]])
    found = found_of("exempt", "Job 'burst' must not be.", exemption=configured.exemptions[0])

    statuses = exemption_statuses([configured], [found], date(2026, 11, 21))

    assert [(one.resource, one.until, one.use) for one in statuses] == [
        ("Queue/old", "2026-11-20", "expired"),
        ("Queue/burst", "2026-12-31", "used"),
        ("Queue/other", "2027-01-01", "unused"),
    ]
    report = replace(report_builder.planned(environment), exemptions=statuses)
    shown = " ".join(text(report).split())
    assert f"✗ Queue/old was exempt from {RULE} until 2026-11-20, desk: warm-up" in shown
    assert (
        f"! Queue/other is exempt from {RULE} until 2027-01-01, desk: warm-up not needed" in shown
    )
    assert report.as_json()["exemptions"][0]["owner"] == "desk"


def test_a_rehearsal_that_stops_early_lists_the_exemptions_of_its_environment(
    environment: Environment,
) -> None:
    until = "2999-12-31"
    exempt = {"resource": "Queue/x", "owner": "desk", "reason": "warm-up", "until": until}
    asked = replace(environment, rules=configure({RULE: {"exemptions": [exempt]}}))

    assert [one.resource for one in report_builder.planned(asked).exemptions] == ["Queue/x"]


def found_of(state: State, sentence: str, **changed: Any) -> Finding:
    """A finding of the first rule."""
    burst = Resource(kind="NodePool", name="burst", urn="urn:pulumi:dev::gpu-fleet::x::burst")
    level = "advisory" if state == "advisory" else "mandatory"
    about = {"rule": RULE, "level": level, "state": state, "resource": burst}
    return Finding(**{**about, "sentences": (sentence,), **changed})


def judged(
    environment: Environment, whole: Report, *found: Finding, level: str = "mandatory"
) -> Report:
    asked = replace(environment, rules=configure({RULE: {"level": level}}))
    return report_builder.with_verdicts(whole, asked, found)


def test_a_rule_that_is_only_advised_shows_its_violation(
    environment: Environment, whole: Report
) -> None:
    found = found_of("advisory", "NodePool 'burst' must set limits.")
    report = judged(environment, whole, found, level="advisory")
    verdict = report.verdicts[0]
    assert (verdict.level, verdict.state) == ("advisory", "advisory")
    shown = " ".join(text(report).split())
    assert f"{RULE}, advisory - NodePool 'burst' must set limits." in shown


def test_an_exempted_rule_says_until_when_and_keeps_its_level(
    environment: Environment, whole: Report
) -> None:
    exemption = Exemption(
        resource="NodePool/burst",
        owner="research",
        reason="long warm-up",
        until=date(2027, 1, 31),
    )
    found = found_of("exempt", "NodePool 'burst' must set limits.", exemption=exemption)
    report = judged(environment, whole, found)
    verdict = report.verdicts[0]
    assert (verdict.level, verdict.state) == ("mandatory", "exempt")
    shown = " ".join(text(report, width=300).split())
    assert f"! {ALL[0].sentence} {RULE}, mandatory, exempt" in shown
    until = "It is exempt until 2027-01-31 (research: long warm-up)."
    assert f"NodePool 'burst' must set limits. {until}" in shown


def test_a_disabled_rule_is_not_shown_as_held(environment: Environment, whole: Report) -> None:
    report = judged(environment, whole, level="disabled")
    assert (report.verdicts[0].level, report.verdicts[0].state) == ("disabled", "disabled")
    shown = " ".join(text(report).split())
    assert f"- {ALL[0].sentence} {RULE}, disabled" in shown


def test_a_rule_that_could_not_be_asked_yet_is_not_called_broken(
    environment: Environment, whole: Report
) -> None:
    waits = found_of("not checked", "NodePool 'burst' waits.", unknown="spec")
    report = judged(environment, whole, waits)
    assert report.verdicts[0].state == "not checked"
    assert f"{RULE}, mandatory, not checked - NodePool 'burst' waits." in " ".join(
        text(report, width=300).split()
    )
