"""The monitors of programs select what the pinned charts make, as their templates read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from components.platform.monitoring.monitors import monitors
from settings import versions
from settings.versions import Chart
from tests.support.environments import resources
from tests.support.recorder import named


@dataclass(frozen=True, kw_only=True)
class Target:
    """The labels and the port of what a chart makes: of pods, or of a Service.

    They were read in `source` at this version; another version means to read it again.
    """

    chart: Chart
    version: str
    source: str
    labels: Mapping[str, str]
    port: str


NAME, INSTANCE = "app.kubernetes.io/name", "app.kubernetes.io/instance"
TARGETS = {
    "karpenter": Target(
        chart=versions.KARPENTER,
        version="1.14.1",
        source="aws/karpenter-provider-aws, charts/karpenter/templates/deployment.yaml",
        labels={NAME: "karpenter", INSTANCE: "karpenter"},
        port="http-metrics",
    ),
    "kured": Target(
        chart=versions.KURED,
        version="6.0.0",
        source="kubereboot/charts, charts/kured/templates/daemonset.yaml",
        labels={NAME: "kured", INSTANCE: "kured"},
        port="metrics",
    ),
    "volcano's scheduler": Target(
        chart=versions.VOLCANO,
        version="1.14.1",
        source="volcano-sh/volcano, installer/helm/chart/volcano/templates/scheduler.yaml",
        labels={"app": "volcano-scheduler"},
        port="metrics",
    ),
    "volcano's controllers": Target(
        chart=versions.VOLCANO,
        version="1.14.1",
        source="volcano-sh/volcano, installer/helm/chart/volcano/templates/controllers.yaml",
        labels={"app": "volcano-controller"},
        port="metrics",
    ),
}
RENAMES = {"nameOverride", "fullnameOverride", "podLabels"}
each_target = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)


def monitor(target: Target) -> Any:
    return monitors("monitoring")[target.chart.name.rpartition("/")[2]]["spec"]


def release(target: Target) -> Any:
    found = named(resources("prod"), "Release").values()
    (only,) = (each.inputs for each in found if each.inputs["chart"] == target.chart.name)
    return only


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a label selector of Kubernetes matches; it knows no operator but In."""
    listed = selector.get("matchExpressions", [])
    assert all(each["operator"] == "In" for each in listed)
    return selector.get("matchLabels", {}).items() <= labels.items() and all(
        labels.get(each["key"]) in each["values"] for each in listed
    )


@each_target
def test_a_monitor_selects_what_the_chart_makes_and_a_port_that_it_has(target: Target) -> None:
    spec = monitor(target)
    assert spec["selector"] != {}
    assert selects(spec["selector"], target.labels)
    (endpoint,) = spec.get("podMetricsEndpoints") or spec["endpoints"]
    assert endpoint["port"] == target.port


@each_target
def test_a_monitor_looks_where_the_chart_is_installed(target: Target) -> None:
    assert monitor(target)["namespaceSelector"] == {"matchNames": [release(target)["namespace"]]}


@each_target
def test_the_labels_are_those_of_the_pinned_chart_and_nobody_renames_it(target: Target) -> None:
    assert target.chart.version == target.version, f"read {target.source} again"
    assert not RENAMES & release(target)["values"].keys()
    assert release(target)["name"] == target.labels.get(INSTANCE, "volcano")
