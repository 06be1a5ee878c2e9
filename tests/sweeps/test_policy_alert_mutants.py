"""Proof that the tests of the rules' alerts bite: an alert that is made wrong breaks a case."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import yaml

from policies.gates.alerts import ENDED
from policies.rules import ALL
from tests.conformance.monitoring.test_policy_alerts import CASES, TEXT
from tests.support.monitoring.promtool import Promtool

MUTATIONS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "never fires": lambda alert: {**alert, "expr": "vector(0) > 0"},
    "fires where it must not": lambda alert: {
        **alert,
        "expr": f"absent({alert['expr']}) or vector(1)",
    },
    "fires at once": lambda alert: {**alert, "for": "0m"},
    "says nothing": lambda alert: {**alert, "annotations": {"summary": "It is so"}},
}
ALERTS = [*(rule.alert.name for rule in ALL if rule.alert), ENDED]


def mutant(name: str, mutate: Callable[[dict[str, Any]], dict[str, Any]]) -> str:
    """The rules as text, with the alert of a name made wrong."""
    spec = deepcopy(yaml.safe_load(TEXT))
    for group in spec["groups"]:
        group["rules"] = [
            mutate(rule) if rule["alert"] == name else rule for rule in group["rules"]
        ]
    return yaml.safe_dump(spec)


MUTANTS = {
    f"{alert} {what}": (alert, text)
    for alert in ALERTS
    for what, mutate in MUTATIONS.items()
    if alert != ENDED or what == "never fires"  # its case is a day of promtool's
    if (text := mutant(alert, mutate)) != TEXT  # an alert may fire at once already
}


@pytest.mark.parametrize("made", MUTANTS)
def test_an_alert_that_is_made_wrong_is_noticed(promtool: Promtool, made: str) -> None:
    alert, text = MUTANTS[made]
    cases = [case for case in CASES if case.alert == alert]

    assert any(
        promtool.policy(text, alert, each.minutes, each.series, each.fires) for each in cases
    )
