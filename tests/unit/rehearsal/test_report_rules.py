"""What the report says of rules and of exemptions from them."""

from dataclasses import replace
from datetime import date

from engine.events import Outcome, Violation
from policies.configuration import configure
from policies.environment import Environment
from policies.rules import ALL
from rehearsal import findings
from rehearsal.report import Report
from tests.support.rehearsal.reports import text


def test_every_rule_is_listed_and_held(whole: Report) -> None:
    assert [rule.id for rule in whole.rules if rule.state == "held"] == [rule.id for rule in ALL]


def test_every_exemption_is_listed_with_its_use(environment: Environment) -> None:
    def exempt(resource: str, until: str) -> dict[str, str]:
        return {"resource": resource, "owner": "desk", "reason": "warm-up", "until": until}

    rule = ALL[0].id
    listed = [
        exempt("Job/burst", "2026-12-31"),
        exempt("Job/other", "2027-01-01"),
        exempt("Job/old", "2026-11-20"),
    ]
    outcome = said(
        "Job 'burst' must not be.\nIt is exempt until 2026-12-31 (desk: warm-up).\nSo it is."
    )

    found = findings.exemptions(
        configure({rule: {"exemptions": listed}}), outcome, date(2026, 11, 21)
    )

    assert [(one.resource, one.until, one.use) for one in found] == [
        ("Job/old", "2026-11-20", "expired"),
        ("Job/burst", "2026-12-31", "used"),
        ("Job/other", "2027-01-01", "unused"),
    ]
    report = replace(findings.planned(environment), exemptions=found)
    shown = " ".join(text(report).split())
    assert f"✗ Job/old was exempt from {rule} until 2026-11-20, desk: warm-up" in shown
    assert (
        f"! Job/other is exempt from {rule} until 2027-01-01, desk: warm-up nothing needs it"
        in shown
    )
    assert report.as_json()["exemptions"][0]["owner"] == "desk"


def test_a_rehearsal_that_stops_early_lists_the_exemptions_of_its_environment(
    environment: Environment,
) -> None:
    rule, until = ALL[0].id, "2999-12-31"
    exempt = {"resource": "Job/x", "owner": "desk", "reason": "warm-up", "until": until}
    asked = replace(environment, rules=configure({rule: {"exemptions": [exempt]}}))

    assert [one.resource for one in findings.planned(asked).exemptions] == ["Job/x"]


def said(message: str, level: str = "advisory") -> Outcome:
    """An engine's outcome in which the pack said one thing of the first rule."""
    violation = Violation(
        policy="fleet-resources-advisory",
        level=level,
        resource="burst",
        message=f"What must hold.\n{ALL[0].id}: {message}",
    )
    return Outcome(violations=[violation])


def test_a_rule_that_is_only_advised_shows_its_violation(whole: Report) -> None:
    broken = said("NodePool 'burst' must set limits.\nBecause. See https://…")
    found = findings.rules(broken, configure({ALL[0].id: {"level": "advisory"}}))
    assert (found[0].level, found[0].state) == ("advisory", "advisory")
    assert found[0].violations == ("NodePool 'burst' must set limits.",)
    shown = " ".join(text(replace(whole, rules=found[:1])).split())
    assert f"{ALL[0].id}, advisory NodePool 'burst' must set limits." in shown


def test_an_exempted_rule_says_until_when_and_keeps_its_level(whole: Report) -> None:
    leave = "It is exempt until 2027-01-31 (research: long warm-up)."
    broken = said(f"NodePool 'burst' must set limits.\n{leave}\nBecause.")
    found = findings.rules(broken, configure({ALL[0].id: {"level": "mandatory"}}))
    assert (found[0].level, found[0].state) == ("mandatory", "exempt")
    assert found[0].violations == (f"NodePool 'burst' must set limits. {leave}",)
    shown = " ".join(text(replace(whole, rules=found[:1])).split())
    assert f"! {ALL[0].sentence} {ALL[0].id}, mandatory, exempt" in shown


def test_a_disabled_rule_is_not_shown_as_held(whole: Report) -> None:
    found = findings.rules(Outcome(), configure({ALL[0].id: {"level": "disabled"}}))
    assert (found[0].level, found[0].state) == ("disabled", "disabled")
    shown = " ".join(text(replace(whole, rules=found[:1])).split())
    assert f"- {ALL[0].sentence} {ALL[0].id}, disabled Job" in shown


def test_a_rule_that_could_not_be_asked_yet_is_not_called_broken() -> None:
    unknown = said("NodePool 'burst' is not checked until up, because spec is not known.")
    assert findings.rules(unknown, configure({}))[0].state == "not checked"
