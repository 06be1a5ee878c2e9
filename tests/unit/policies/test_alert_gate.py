"""The PrometheusRule of the rules: what they watch, and exemptions that have ended."""

from typing import Any

import pytest

from components.platform.monitoring.alerts import alerts as of_the_fleet
from components.platform.monitoring.idle_alerts import IdleLimits
from policies.configuration import PolicyConfigError, configure
from policies.gates.alerts import ENDED, manifest
from policies.language.rule import Rule
from policies.rules import ALL
from policies.rules.cost import capacity_block as cost_capacity_block
from policies.rules.cost import daily_budget as cost_daily_budget
from policies.rules.idle import gpu_node_pool as idle_gpu_node_pool
from tests.support.rule_facts import pool

OF_THE_FLEET = {alert.name for alert in of_the_fleet(IdleLimits.of(configure({})))}
WATCHED = cost_daily_budget.RULE
BLOCK = cost_capacity_block.RULE
HELD = idle_gpu_node_pool.RULE
EXEMPTION = {
    "resource": "NodePool/burst",
    "owner": "research",
    "reason": "images of {{ 20 }} GB",
    "until": "2027-01-31",
}


def alerts(*rules: Rule, **settings: dict[str, object]) -> list[Any]:
    said = {key.replace("__", "/").replace("_", "-"): value for key, value in settings.items()}
    found: Any = manifest(configure(said, rules or ALL), namespace="monitoring")["spec"]
    (group,) = found["groups"]
    return list(group["rules"])


def test_a_rule_becomes_an_alert_with_its_settings_and_its_reason() -> None:
    (alert,) = alerts(WATCHED, cost__daily_budget={"usd_per_day": 1234})

    assert WATCHED.alert is not None
    assert alert["alert"] == WATCHED.alert.name
    assert alert["expr"].endswith("> 1234")
    assert alert["for"] == f"{WATCHED.alert.lasts_minutes}m"
    assert alert["labels"] == {"severity": WATCHED.alert.severity, "rule": WATCHED.id}
    assert alert["annotations"]["summary"] == WATCHED.alert.summary
    assert alert["annotations"]["description"] == WATCHED.why
    assert WATCHED.sentence in alert["annotations"]["runbook"]


def test_a_rule_without_one_and_a_disabled_one_have_no_alert() -> None:
    assert alerts(HELD) == []
    assert alerts(WATCHED, cost__daily_budget={"level": "disabled"}) == []


def test_each_pool_with_a_last_day_has_an_alert_of_its_own() -> None:
    burst = pool("burst", reserved_until="2027-01-31")
    pools = [burst, pool("dgx"), pool("cheap", reserved_until="2027-03-31")]
    found = alerts(BLOCK, cost__capacity_block={"notice_days": 3}, facts={"pools": pools})

    assert [alert["labels"]["pool"] for alert in found] == ["burst", "cheap"]
    assert found[0]["expr"] == "1801440000 - vector(time()) < 3 * 86400", "2027-02-01T00:00:00Z"
    assert alerts(BLOCK) == []


def test_a_last_day_that_no_calendar_has_is_a_mistake() -> None:
    with pytest.raises(PolicyConfigError) as error:
        alerts(BLOCK, facts={"pools": [pool("burst", reserved_until="2027-02-30")]})

    assert error.value.mistakes == (
        (
            'gpu-fleet:policies.facts.pools[0].reserved_until is "2027-02-30"; allowed: a day of '
            "the calendar, such as 2027-01-31."
        ),
    )


def test_an_exemption_is_told_of_from_the_first_day_after_its_last() -> None:
    (alert,) = alerts(HELD, idle__gpu_node_pool={"exemptions": [EXEMPTION]})

    assert alert["alert"] == ENDED
    assert alert["expr"] == "vector(time()) >= 1801440000", "2027-02-01T00:00:00Z"
    assert alert["labels"]["resource"] == "NodePool/burst"
    assert alert["annotations"]["summary"] == (
        "The exemption of NodePool/burst from idle/gpu-node-pool ended on 2027-01-31 "
        '(research: images of {{ "{{" }} 20 }} GB)'
    )


def test_the_object_is_one_that_the_operator_finds_in_its_namespace() -> None:
    found = manifest(configure({}), namespace="monitoring")

    assert (found["apiVersion"], found["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    assert found["metadata"] == {"name": "fleet-policies", "namespace": "monitoring"}


def test_no_alert_has_the_name_of_another() -> None:
    ours = [rule.alert.name for rule in ALL if rule.alert]

    assert len({*ours, *OF_THE_FLEET, ENDED}) == len(ours) + len(OF_THE_FLEET) + 1


@pytest.mark.parametrize("rule", [rule for rule in ALL if rule.watched_by], ids=lambda r: r.id)
def test_the_alerts_that_a_rule_refers_to_are_there(rule: Rule) -> None:
    assert set(rule.watched_by) <= OF_THE_FLEET
