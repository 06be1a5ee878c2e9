"""Each alert on series as the exporters write them: what sets it off, and what must not."""

import pytest

from components.platform.monitoring.alerts import alerts
from tests.conformance.monitoring import (
    blind_cases,
    health_cases,
    idle_cases,
    node_cases,
    platform_cases,
)
from tests.support.monitoring.promtool import LIMITS, Promtool
from tests.support.monitoring.situations import Case

CASES = (
    *idle_cases.CASES,
    *health_cases.CASES,
    *node_cases.CASES,
    *platform_cases.CASES,
    *blind_cases.CASES,
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.alert}: {case.when}")
def test_an_alert_fires_when_it_should_and_says_what_it_should(
    case: Case, promtool: Promtool
) -> None:
    assert promtool.alert(case.alert, case.minutes, case.series, case.fires, case.limits) == ""


def test_every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    fire = {case.alert for case in CASES if case.fires}
    stay_silent = {case.alert for case in CASES if not case.fires}
    assert fire == stay_silent == {alert.name for alert in alerts(LIMITS)}
