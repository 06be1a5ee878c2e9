"""Charts have the keys that we set, and the API server accepts the objects that we make."""

import re
from pathlib import Path

import yaml

from components.platform.monitoring import values
from components.platform.monitoring.alerts import groups
from components.platform.monitoring.cost import PoolGpus
from components.platform.monitoring.dcgm import exporter_values
from components.platform.monitoring.idle_alerts import IdleLimits
from policies.configuration import configure
from policies.gates.prometheus_rule import prometheus_rule
from settings.versions import KUBE_PROMETHEUS_STACK
from tests.conftest import ROOT
from tests.support.chart_index import read, unknown_keys
from tests.support.crd_schemas import closed, faults, kinds

# keys of subcharts, whose own defaults the chart does not repeat
SUBCHART_KEYS = {
    "kube-state-metrics.customResourceState",
    "kube-state-metrics.metricLabelsAllowlist",
    "kube-state-metrics.rbac",
    "prometheus-node-exporter.extraHostVolumeMounts",
}
RULE = prometheus_rule(
    "gpu-fleet",
    "monitoring",
    groups({"dgx": PoolGpus(gpus_per_node=8, usd_per_gpu_hour=2.35)}, IdleLimits.of(configure({}))),
)
CHART_VALUES = values.values(storage_class="hcloud-volumes", storage_gib=100, paged=True)


CHART = read("kube-prometheus-stack")


def test_the_chart_has_every_key_that_is_set() -> None:
    assert set(unknown_keys(CHART_VALUES, CHART["keys"])) == SUBCHART_KEYS


def test_the_check_finds_a_key_that_the_chart_does_not_have() -> None:
    wrong = {"prometheus": {"prometheusSpec": {"retentions": "1d"}}, "grafanas": {}}
    found = ["prometheus.prometheusSpec.retentions", "grafanas"]
    assert unknown_keys(wrong, CHART["keys"]) == found


def test_the_pinned_chart_is_the_one_that_was_read() -> None:
    assert CHART["version"] == KUBE_PROMETHEUS_STACK.version


def test_what_a_list_of_ours_replaces_is_in_it() -> None:
    known = CHART["defaults"]["prometheus-node-exporter.extraArgs"]
    ours = CHART_VALUES["prometheus-node-exporter"]
    assert isinstance(ours, dict)
    assert known
    assert ours["extraArgs"][: len(known)] == known


def test_the_exporters_block_has_only_keys_of_the_gpu_operators_chart() -> None:
    keys = read("gpu-operator")["keys"]
    assert unknown_keys({"dcgmExporter": exporter_values()}, keys) == []
    wrong = {"dcgmExporter": {"config": {"names": "a"}}}
    assert unknown_keys(wrong, keys) == ["dcgmExporter.config.names"]


def test_the_cluster_policy_has_what_the_chart_hands_on() -> None:
    schema = closed(read("gpu-operator")["schema"])
    exporter = exporter_values()
    handed_on = {**exporter, "config": {"name": exporter["config"]["name"]}}  # type: ignore[index]  # a mapping
    assert faults(schema, handed_on) == []
    assert faults(schema, exporter), "the kind has no key for the metrics themselves"


def test_the_schemas_refuse_what_is_wrong(crds: Path) -> None:
    broken = yaml.safe_load(yaml.safe_dump(dict(RULE)))
    broken["spec"]["groups"][0]["rules"][0]["expression"] = "up"
    broken["spec"]["groups"][0]["interval"] = "one minute"
    schema = kinds(crds / "prometheus-operator")[broken["apiVersion"], broken["kind"]]
    assert len(faults(schema, broken)) == 2


def test_rules_are_tested_on_the_prometheus_that_the_chart_runs() -> None:
    tag = CHART["defaults"]["prometheus.prometheusSpec.image.tag"]
    major, minor, patch = re.match(r"v(\d+)\.(\d+)\.(\d+)", tag).groups()  # type: ignore[union-attr]  # a mismatch fails the test
    pinned = (ROOT / "toolchain" / "prometheus" / "go.mod").read_text()
    # the module of Prometheus 3.14.0 is v0.314.0
    assert f"github.com/prometheus/prometheus v0.{major}{int(minor):02}.{patch}\n" in pinned
