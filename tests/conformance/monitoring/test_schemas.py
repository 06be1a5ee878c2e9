"""Charts have the keys that we set, and the API server accepts the objects that we make."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from components.platform.monitoring import values
from components.platform.monitoring.cost import PoolGpus
from components.platform.monitoring.dcgm import exporter_values
from components.platform.monitoring.groups import groups
from components.platform.monitoring.rules import prometheus_rule
from fleet.versions import KUBE_PROMETHEUS_STACK
from tests.conftest import ROOT

# keys of subcharts, whose own defaults the chart does not repeat
SUBCHART_KEYS = {"kube-state-metrics.metricLabelsAllowlist"}
RULE = prometheus_rule(
    "gpu-fleet",
    "monitoring",
    groups({"dgx": PoolGpus(gpus_per_node=8, usd_per_gpu_hour=2.35)}),
)
MONITOR = values.volcano_service_monitor("monitoring")
CHART_VALUES = values.values(storage_class="hcloud-volumes", storage_gib=100, paged=True)


def defaults(shared: Path, chart: str) -> Any:
    return yaml.safe_load((shared / "schemas" / "charts" / chart / "values.yaml").read_text())


def unknown(given: Any, known: Any, path: str = "") -> set[str]:
    """The paths that we set and the chart does not have; what it leaves empty is free-form."""
    if not isinstance(given, dict) or not known:
        return set()
    missing = {f"{path}{key}" for key in given if not isinstance(known, dict) or key not in known}
    inside = (
        unknown(value, known[key], f"{path}{key}.")
        for key, value in given.items()
        if isinstance(known, dict) and key in known
    )
    return missing.union(*inside)


def crd(shared: Path, folder: str, kind: str) -> dict[str, Any]:
    """The schema of a kind's stored version, closed against what the API server would prune."""
    for path in (shared / "schemas" / "crds" / folder).glob("*.yaml"):
        for document in yaml.safe_load_all(path.read_text()):
            if document and document["spec"]["names"]["kind"] == kind:
                (version,) = (each for each in document["spec"]["versions"] if each["storage"])
                schema = closed(version["schema"]["openAPIV3Schema"])
                schema["properties"]["metadata"] = {"type": "object"}  # the API server's own
                return schema
    raise LookupError(kind)


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """A structural schema that refuses unknown properties."""
    result = dict(schema)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            result[key] = closed(schema[key])
    if "properties" in schema:
        result["properties"] = {name: closed(part) for name, part in schema["properties"].items()}
        result.setdefault("additionalProperties", False)
    if schema.get("x-kubernetes-int-or-string"):
        result.pop("type", None)
    return result


def faults(schema: dict[str, Any], value: object) -> list[str]:
    errors = Draft202012Validator(schema).iter_errors(value)
    return [f"{error.json_path}: {error.message}" for error in errors]


def test_the_chart_has_every_key_that_is_set(shared: Path) -> None:
    known = defaults(shared, "kube-prometheus-stack")
    assert unknown(CHART_VALUES, known) == SUBCHART_KEYS


def test_the_check_finds_a_key_that_the_chart_does_not_have(shared: Path) -> None:
    known = defaults(shared, "kube-prometheus-stack")
    wrong = {"prometheus": {"prometheusSpec": {"retentions": "1d"}}, "grafanas": {}}
    assert unknown(wrong, known) == {"prometheus.prometheusSpec.retentions", "grafanas"}


def test_the_pinned_chart_is_the_one_that_was_read(shared: Path) -> None:
    chart = shared / "schemas" / "charts" / "kube-prometheus-stack" / "Chart.yaml"
    assert yaml.safe_load(chart.read_text())["version"] == KUBE_PROMETHEUS_STACK.version


def test_what_a_list_of_ours_replaces_is_in_it(shared: Path) -> None:
    known = defaults(shared, "kube-prometheus-stack")["prometheus-node-exporter"]["extraArgs"]
    ours = CHART_VALUES["prometheus-node-exporter"]
    assert isinstance(ours, dict)
    assert ours["extraArgs"][: len(known)] == known


def test_the_exporters_block_has_only_keys_of_the_gpu_operators_chart(shared: Path) -> None:
    text = (shared / "schemas" / "charts" / "gpu-operator" / "values.yaml").read_text()
    known = yaml.safe_load(text)["dcgmExporter"]
    ours = exporter_values()
    assert unknown(ours, known) == {"config"}, "which the chart has as a comment alone"
    for key in ours["config"]:  # type: ignore[attr-defined]  # a mapping
        assert re.search(rf"(?m)^  # config:\n(    # .*\n)*    # {key}: ", text), key


def test_the_cluster_policy_has_what_the_chart_hands_on(shared: Path) -> None:
    schema = crd(shared, "gpu-operator", "ClusterPolicy")["properties"]["spec"]
    exporter = exporter_values()
    handed_on = {**exporter, "config": {"name": exporter["config"]["name"]}}  # type: ignore[index]  # a mapping
    assert faults(schema["properties"]["dcgmExporter"], handed_on) == []


@pytest.mark.parametrize("manifest", [RULE, MONITOR], ids=lambda manifest: manifest["kind"])
def test_the_api_server_accepts_the_object(manifest: dict[str, Any], shared: Path) -> None:
    assert faults(crd(shared, "prometheus-operator", manifest["kind"]), manifest) == []


def test_the_schemas_refuse_what_is_wrong(shared: Path) -> None:
    broken = yaml.safe_load(yaml.safe_dump(dict(RULE)))
    broken["spec"]["groups"][0]["rules"][0]["expression"] = "up"
    broken["spec"]["groups"][0]["interval"] = "one minute"
    assert len(faults(crd(shared, "prometheus-operator", "PrometheusRule"), broken)) == 2


def test_rules_are_tested_on_the_prometheus_that_the_chart_runs(shared: Path) -> None:
    spec = defaults(shared, "kube-prometheus-stack")["prometheus"]["prometheusSpec"]
    major, minor, patch = re.match(r"v(\d+)\.(\d+)\.(\d+)", spec["image"]["tag"]).groups()  # type: ignore[union-attr]  # a mismatch fails the test
    pinned = (ROOT / "toolchain" / "prometheus" / "go.mod").read_text()
    # the module of Prometheus 3.14.0 is v0.314.0
    assert f"github.com/prometheus/prometheus v0.{major}{int(minor):02}.{patch}\n" in pinned
