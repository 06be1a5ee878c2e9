"""Charts have the keys that we set, and the API server accepts the objects that we make."""

import re
from pathlib import Path
from typing import Any

import yaml

from components.platform.monitoring import values
from components.platform.monitoring.cost import PoolGpus
from components.platform.monitoring.dcgm import exporter_values
from components.platform.monitoring.groups import groups
from components.platform.monitoring.rules import prometheus_rule
from settings.versions import KUBE_PROMETHEUS_STACK
from tests.conformance.upstream import chart, faults, kinds, unknown_keys
from tests.conftest import ROOT

# keys of subcharts, whose own defaults the chart does not repeat
SUBCHART_KEYS = {
    "kube-state-metrics.metricLabelsAllowlist",
    "prometheus-node-exporter.extraHostVolumeMounts",
}
RULE = prometheus_rule(
    "gpu-fleet",
    "monitoring",
    groups({"dgx": PoolGpus(gpus_per_node=8, usd_per_gpu_hour=2.35)}),
)
CHART_VALUES = values.values(storage_class="hcloud-volumes", storage_gib=100, paged=True)


def schema_of(folder: str, version: str, kind: str, shared: Path) -> dict[str, Any]:
    return kinds(shared / "schemas" / "crds" / folder)[version, kind]


def test_the_chart_has_every_key_that_is_set(shared: Path) -> None:
    known = chart(shared, "kube-prometheus-stack")
    assert set(unknown_keys(CHART_VALUES, known, set())) == SUBCHART_KEYS


def test_the_check_finds_a_key_that_the_chart_does_not_have(shared: Path) -> None:
    known = chart(shared, "kube-prometheus-stack")
    wrong = {"prometheus": {"prometheusSpec": {"retentions": "1d"}}, "grafanas": {}}
    found = ["prometheus.prometheusSpec.retentions", "grafanas"]
    assert list(unknown_keys(wrong, known, set())) == found


def test_the_pinned_chart_is_the_one_that_was_read(shared: Path) -> None:
    described = chart(shared, "kube-prometheus-stack", "Chart.yaml")
    assert described["version"] == KUBE_PROMETHEUS_STACK.version


def test_what_a_list_of_ours_replaces_is_in_it(shared: Path) -> None:
    known = chart(shared, "kube-prometheus-stack")["prometheus-node-exporter"]["extraArgs"]
    ours = CHART_VALUES["prometheus-node-exporter"]
    assert isinstance(ours, dict)
    assert ours["extraArgs"][: len(known)] == known


def test_the_exporters_block_has_only_keys_of_the_gpu_operators_chart(shared: Path) -> None:
    text = (shared / "schemas" / "charts" / "gpu-operator" / "values.yaml").read_text()
    known = chart(shared, "gpu-operator")["dcgmExporter"]
    ours = exporter_values()
    assert list(unknown_keys(ours, known, set())) == ["config"], (
        "which the chart has as a comment alone"
    )
    for key in ours["config"]:  # type: ignore[attr-defined]  # a mapping
        assert re.search(rf"(?m)^  # config:\n(    # .*\n)*    # {key}: ", text), key


def test_the_cluster_policy_has_what_the_chart_hands_on(shared: Path) -> None:
    schema = schema_of("gpu-operator", "nvidia.com/v1", "ClusterPolicy", shared)
    handed = schema["properties"]["spec"]["properties"]["dcgmExporter"]
    exporter = exporter_values()
    handed_on = {**exporter, "config": {"name": exporter["config"]["name"]}}  # type: ignore[index]  # a mapping
    assert faults(handed, handed_on) == []


def test_the_schemas_refuse_what_is_wrong(shared: Path) -> None:
    broken = yaml.safe_load(yaml.safe_dump(dict(RULE)))
    broken["spec"]["groups"][0]["rules"][0]["expression"] = "up"
    broken["spec"]["groups"][0]["interval"] = "one minute"
    schema = schema_of("prometheus-operator", broken["apiVersion"], broken["kind"], shared)
    assert len(faults(schema, broken)) == 2


def test_rules_are_tested_on_the_prometheus_that_the_chart_runs(shared: Path) -> None:
    spec = chart(shared, "kube-prometheus-stack")["prometheus"]["prometheusSpec"]
    major, minor, patch = re.match(r"v(\d+)\.(\d+)\.(\d+)", spec["image"]["tag"]).groups()  # type: ignore[union-attr]  # a mismatch fails the test
    pinned = (ROOT / "toolchain" / "prometheus" / "go.mod").read_text()
    # the module of Prometheus 3.14.0 is v0.314.0
    assert f"github.com/prometheus/prometheus v0.{major}{int(minor):02}.{patch}\n" in pinned
