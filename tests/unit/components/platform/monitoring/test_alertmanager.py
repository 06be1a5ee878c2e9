"""Which alert reaches whom, by Alertmanager's own rules of matching, and where its key is."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from components.platform.monitoring import values
from components.platform.monitoring.alerts import alerts
from components.platform.monitoring.cost import PoolGpus
from components.platform.monitoring.idle_alerts import IdleLimits
from components.platform.monitoring.release import Monitoring, MonitoringArgs
from policies.configuration import configure
from tests.support.recorder import Registered, Secret, named, render

POOLS = {"dgx": PoolGpus(gpus_per_node=8, usd_per_gpu_hour=2.35)}
ROUTING_KEY = "routing-key-of-pagerduty"
RULES = configure({})
PLAIN = MonitoringArgs(pools=POOLS, rules=RULES, storage_class="hcloud-volumes")
ARGS = replace(PLAIN, pagerduty_routing_key=ROUTING_KEY)


def alertmanager(*, paged: bool) -> Mapping[str, Any]:
    chart: Any = values.values(storage_class="hcloud-volumes", storage_gib=1, paged=paged)
    found: Mapping[str, Any] = chart["alertmanager"]
    return found


def config(*, paged: bool = True) -> Mapping[str, Any]:
    found: Mapping[str, Any] = alertmanager(paged=paged)["config"]
    return found


def route(severity: str) -> Mapping[str, Any]:
    """The route of an alert: the first whose matchers hold, else the root."""
    root: Mapping[str, Any] = config()["route"]
    fitting = (r for r in root["routes"] if r["matchers"] == [f'severity = "{severity}"'])
    return next(fitting, root)


@pytest.fixture(scope="module")
def resources() -> list[Registered]:
    return render(lambda: Monitoring("monitoring", ARGS) and None)


@pytest.mark.parametrize(
    ("severity", "receiver"),
    [("critical", "pagerduty"), ("warning", "pagerduty"), ("info", "nobody"), ("none", "nobody")],
)
def test_an_alert_goes_by_its_severity(severity: str, receiver: str) -> None:
    assert route(severity)["receiver"] == receiver
    assert receiver in {each["name"] for each in config()["receivers"]}


def test_every_severity_of_our_alerts_was_thought_of() -> None:
    ours = {alert.severity for alert in alerts(IdleLimits.of(RULES))}
    assert ours == {"critical", "warning", "info"}


def test_a_critical_alert_does_not_wait_for_others_and_warnings_do() -> None:
    critical, warning = route("critical"), route("warning")
    assert critical["group_wait"] == "30s"
    assert {"alertname", "node"} <= set(critical["group_by"]), "one incident for each machine"
    assert warning["group_by"] == ["alertname"]
    assert warning["repeat_interval"] == "24h"


def test_the_message_begins_with_the_sentence_of_the_alert() -> None:
    (message,) = config()["receivers"][1]["pagerduty_configs"]
    assert message["description"].startswith("{{ (index .Alerts 0).Annotations.summary }}")
    assert message["severity"] == "{{ .CommonLabels.severity }}", "the routes keep them apart"


def test_without_a_pager_alerts_reach_nobody_and_no_secret_is_wanted() -> None:
    assert config(paged=False)["route"]["routes"] == []
    assert "alertmanagerSpec" not in alertmanager(paged=False)
    assert named(render(lambda: Monitoring("monitoring", PLAIN) and None), "Secret") == {}


def test_the_routing_key_is_in_a_secret_where_alertmanager_reads_it(
    resources: list[Registered],
) -> None:
    (secret,) = named(resources, "Secret").values()
    (release,) = named(resources, "Release").values()
    metadata: Any = secret.inputs["metadata"]
    given: Any = release.inputs["values"]
    (message,) = given["alertmanager"]["config"]["receivers"][1]["pagerduty_configs"]
    assert given["alertmanager"]["alertmanagerSpec"]["secrets"] == [metadata["name"]]
    assert message["routing_key_file"] == (
        f"/etc/alertmanager/secrets/{metadata['name']}/routing_key"
    )
    assert metadata["namespace"] == release.inputs["namespace"]
    assert any(urn.endswith(f"::{secret.name}") for urn in release.depends_on)


def test_the_routing_key_is_shown_nowhere(resources: list[Registered]) -> None:
    (secret,) = named(resources, "Secret").values()
    data = secret.inputs["stringData"]
    assert data == Secret({"routing_key": ROUTING_KEY}) or data == {
        "routing_key": Secret(ROUTING_KEY)
    }
    others = [each.inputs for each in resources if each is not secret]
    assert ROUTING_KEY not in str(others)
    assert ROUTING_KEY not in repr(ARGS)
