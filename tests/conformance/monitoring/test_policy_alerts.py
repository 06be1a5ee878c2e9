"""Each alert of a rule, and of an exemption, in the real promtool: what sets it off or not."""

from dataclasses import dataclass

import pytest
import yaml

from policies.configuration import configure
from policies.gates.alerts import ENDED, manifest
from policies.rules import ALL
from tests.conformance.monitoring.exporters import Series, steady
from tests.conformance.monitoring.promtool import Fires, Promtool
from tests.conformance.monitoring.situations import dgx, series

RULES = configure(
    {
        "cost/daily-budget": {"usd_per_day": 1000},
        "idle/gpu-node-pool": {
            "exemptions": [
                {
                    "resource": f"NodePool/{name}",
                    "owner": "research",
                    "reason": "images of 20 GB",
                    "until": until,
                }
                for name, until in (("old", "1969-12-31"), ("new", "1970-01-01"))
            ]
        },
    }
)
TEXT = yaml.safe_dump(manifest(RULES, namespace="monitoring")["spec"])


@dataclass(frozen=True, kw_only=True)
class Case:
    """An alert, a situation told in words, and what fires after `minutes`."""

    alert: str
    when: str
    series: list[Series]
    minutes: int
    fires: tuple[Fires, ...] = ()


def machines(number: int) -> list[Series]:
    """Nodes of eight GPUs, of which the tests' catalogue says 20 USD an hour and 480 a day."""
    return series(*(dgx(f"dgx-{each}", there=steady(1, minutes=150)) for each in range(number)))


BUDGET = "cost/daily-budget"
COSTS = "The GPU machines cost 1.44k USD a day, more than the environment's budget"
CASES = (
    Case(
        alert="FleetCostOverBudget",
        when="three machines of 480 USD a day have stood for two hours",
        series=machines(3),
        minutes=120,
        fires=(Fires(labels={"rule": BUDGET}, sentence=COSTS),),
    ),
    Case(
        alert="FleetCostOverBudget",
        when="three machines have stood for half an hour",
        series=machines(3),
        minutes=30,
    ),
    Case(
        alert="FleetCostOverBudget",
        when="two machines have stood for two hours",
        series=machines(2),
        minutes=120,
    ),
    Case(
        alert=ENDED,
        when="one exemption has ended and the other lasts until the end of the day",
        series=[],
        minutes=23 * 60 + 59,
        fires=(
            Fires(
                labels={"rule": "idle/gpu-node-pool", "resource": "NodePool/old"},
                sentence=(
                    "The exemption of NodePool/old from idle/gpu-node-pool ended on 1969-12-31 "
                    "(research: images of 20 GB)"
                ),
            ),
        ),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.alert}: {case.when}")
def test_an_alert_of_a_rule_fires_when_it_should(case: Case, promtool: Promtool) -> None:
    assert promtool.policy(TEXT, case.alert, case.minutes, case.series, case.fires) == ""


def test_every_rule_with_an_alert_has_a_case_in_which_it_fires_and_one_in_which_not() -> None:
    fire = {case.alert for case in CASES if case.fires}
    stay_silent = {case.alert for case in CASES if not case.fires}
    watched = {rule.alert.name for rule in ALL if rule.alert}
    assert fire == {*watched, ENDED}
    assert stay_silent == watched, "an exemption that lasts is silent beside the one that ended"


def test_promtool_has_nothing_against_the_alerts_of_the_rules(promtool: Promtool) -> None:
    assert promtool.check(TEXT) == ""
