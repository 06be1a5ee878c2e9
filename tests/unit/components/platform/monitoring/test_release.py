"""What the component registers: the pinned chart first, then what needs its CRDs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from components.platform.monitoring import values
from components.platform.monitoring.cost import PoolGpus
from components.platform.monitoring.groups import groups
from components.platform.monitoring.release import NAMESPACE, Monitoring, MonitoringArgs
from components.platform.monitoring.rules import prometheus_rule, rule_file
from settings.versions import KUBE_PROMETHEUS_STACK
from tests.recorder import Registered, named, render

POOLS = {"dgx": PoolGpus(gpus_per_node=8, usd_per_gpu_hour=2.35)}
ARGS = MonitoringArgs(pools=POOLS, storage_class="hcloud-volumes")


@pytest.fixture(scope="module")
def resources() -> list[Registered]:
    return render(lambda: Monitoring("monitoring", ARGS) and None)


def inputs(resources: list[Registered], kind: str) -> Mapping[str, Any]:
    (found,) = named(resources, kind).values()
    return found.inputs


def test_the_chart_is_pinned(resources: list[Registered]) -> None:
    release = inputs(resources, "Release")
    chart = KUBE_PROMETHEUS_STACK
    assert (release["chart"], release["version"]) == (chart.name, chart.version)
    assert release["repositoryOpts"] == {"repo": chart.repository}
    assert release["namespace"] == NAMESPACE


def test_the_rules_are_one_object_that_waits_for_the_charts_crds(
    resources: list[Registered],
) -> None:
    (rule,) = named(resources, "PrometheusRule").values()
    assert rule.inputs["spec"] == rule_file(groups(POOLS))
    (release,) = named(resources, "Release").values()
    for each in (rule, *named(resources, "ServiceMonitor").values()):
        assert any(urn.endswith(f"::{release.name}") for urn in each.depends_on), each.name
        assert each.inputs["metadata"]["namespace"] == NAMESPACE  # type: ignore[index]  # a mapping


def test_further_rules_wait_for_the_crds_too() -> None:
    more = prometheus_rule("fleet-policies", NAMESPACE, ())
    args = replace(ARGS, alerts=[more])

    found = named(render(lambda: Monitoring("monitoring", args) and None), "PrometheusRule")

    policies = found["monitoring-fleet-policies"]
    assert policies.inputs["metadata"] == {"name": "fleet-policies", "namespace": NAMESPACE}
    assert any(urn.endswith("::monitoring-release") for urn in policies.depends_on)
    assert len(found) == 2


def test_grafanas_sidecar_finds_the_dashboard(resources: list[Registered]) -> None:
    sidecar = inputs(resources, "Release")["values"]["grafana"]["sidecar"]["dashboards"]
    labels = inputs(resources, "ConfigMap")["metadata"]["labels"]
    assert labels == {sidecar["label"]: sidecar["labelValue"]}


def test_the_namespace_lets_the_node_exporter_see_its_host(resources: list[Registered]) -> None:
    labels = inputs(resources, "Namespace")["metadata"]["labels"]
    assert labels == {"pod-security.kubernetes.io/enforce": "privileged"}


def test_a_preview_and_an_update_register_the_same(resources: list[Registered]) -> None:
    preview = render(lambda: Monitoring("monitoring", ARGS) and None, preview=True)
    assert {(each.kind, each.name) for each in preview} == {
        (each.kind, each.name) for each in resources
    }


def test_monitors_and_rules_of_every_chart_are_seen_without_a_label(
    resources: list[Registered],
) -> None:
    spec = inputs(resources, "Release")["values"]["prometheus"]["prometheusSpec"]
    for kind in ("serviceMonitor", "podMonitor", "rule"):
        assert spec[f"{kind}SelectorNilUsesHelmValues"] is False


def test_blocks_leave_room_on_their_volume() -> None:
    spec = values.values(storage_class="hcloud-volumes", storage_gib=50, paged=False)["prometheus"]
    assert "'retentionSize': '40GiB'" in str(spec)
    assert "'storage': '50Gi'" in str(spec)


def test_kube_state_metrics_shows_every_label_that_a_rule_joins() -> None:
    found = values.values(storage_class="hcloud-volumes", storage_gib=1, paged=False)
    assert found["kube-state-metrics"] == {
        "metricLabelsAllowlist": [
            "pods=[fleet.gpu/team,fleet.gpu/cost-centre,fleet.gpu/branch]",
            "nodes=[fleet.gpu/pool,fleet.gpu/sharing]",
        ]
    }


def test_a_volume_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match=r"storage_gib is 0; allowed: 1 or more\."):
        MonitoringArgs(pools=POOLS, storage_class="hcloud-volumes", storage_gib=0)
