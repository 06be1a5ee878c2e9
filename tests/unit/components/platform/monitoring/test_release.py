"""What the component registers: the pinned chart first, then what needs its CRDs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from components.platform.monitoring import values
from components.platform.monitoring.alerts import groups
from components.platform.monitoring.cost import PoolGpus
from components.platform.monitoring.idle_alerts import IdleLimits
from components.platform.monitoring.release import Monitoring, MonitoringArgs
from policies.configuration import configure
from policies.gates.alerts import manifest
from policies.gates.prometheus_rule import rule_file
from settings.names import MONITORING_NAMESPACE
from settings.versions import BUSYBOX_TAG, KUBE_PROMETHEUS_STACK
from tests.support.recorder import Registered, named, render

POOLS = {"dgx": PoolGpus(gpus_per_node=8, usd_per_gpu_hour=2.35)}
RULES = configure({})
ARGS = MonitoringArgs(pools=POOLS, rules=RULES, storage_class="hcloud-volumes")


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
    assert release["namespace"] == MONITORING_NAMESPACE


def test_recordings_and_alerts_wait_for_the_charts_crds(resources: list[Registered]) -> None:
    rules = named(resources, "PrometheusRule")
    assert rules.keys() == {"monitoring-rules", "monitoring-fleet-policies"}
    own = rule_file(groups(POOLS, IdleLimits.of(RULES)))
    assert rules["monitoring-rules"].inputs["spec"] == own
    assert (
        rules["monitoring-fleet-policies"].inputs["spec"]
        == (manifest(RULES, namespace=MONITORING_NAMESPACE)["spec"])
    )
    (release,) = named(resources, "Release").values()
    for each in (*rules.values(), *named(resources, "ServiceMonitor").values()):
        assert any(urn.endswith(f"::{release.name}") for urn in each.depends_on), each.name
        assert each.inputs["metadata"]["namespace"] == MONITORING_NAMESPACE  # type: ignore[index]  # a mapping


def test_the_deployed_alerts_follow_the_settings_of_the_environment() -> None:
    rules = configure({"idle/gpu-node-pool": {"max_consolidate_after_minutes": 45}})
    found = render(lambda: Monitoring("monitoring", replace(ARGS, rules=rules)) and None)

    spec: Any = named(found, "PrometheusRule")["monitoring-rules"].inputs["spec"]
    waits = {rule["alert"]: rule["for"] for rule in spec["groups"][-1]["rules"]}
    assert waits["GpuNodeIdle"] == "60m", "45 minutes, and 15 for Karpenter to end the machine"


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
    assert found["kube-state-metrics"]["metricLabelsAllowlist"] == [  # type: ignore[index]  # a mapping
        "pods=[fleet.gpu/team,fleet.gpu/cost-centre,fleet.gpu/branch]",
        "nodes=[fleet.gpu/pool,fleet.gpu/sharing,fleet.gpu/site]",
    ]


def test_a_newer_chart_also_brings_the_newer_kinds(resources: list[Registered]) -> None:
    job = inputs(resources, "Release")["values"]["crds"]["upgradeJob"]
    assert job["enabled"] is True, "Helm never changes a CRD that it has installed"
    assert job["image"]["busybox"] == {"tag": BUSYBOX_TAG}


def test_a_volume_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match=r"storage_gib is 0; allowed: 1 or more\."):
        replace(ARGS, storage_gib=0)
