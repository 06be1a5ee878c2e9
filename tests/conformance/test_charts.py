"""Every value that a release sets is one that its chart has, at the release that is pinned."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from tests.conformance.test_crds import opened
from tests.support.chart_index import paths, read, unknown_keys
from tests.support.environments import ENVIRONMENTS, resources, resources_with_efa
from tests.support.recorder import Registered

# keys below which a chart reads what it is given, though its default values are not empty
FREE = {
    "hcloud-cloud-controller-manager": {"args", "env"},
    # of a subchart, node-feature-discovery 0.19.0
    "gpu-operator": {"node-feature-discovery.worker.resources"},
    # of subcharts, whose own default values the chart does not repeat
    "kube-prometheus-stack": {
        "kube-state-metrics.customResourceState",
        "kube-state-metrics.metricLabelsAllowlist",
        "kube-state-metrics.rbac",
        "prometheus-node-exporter.extraHostVolumeMounts",
    },
}
everywhere = pytest.mark.parametrize("environment", ENVIRONMENTS)


@cache
def releases(environment: str) -> Mapping[str, Registered]:
    """The releases of an environment by the chart's own name."""
    found = [each for each in resources(environment) if each.kind == "Release"]
    return {str(each.inputs["chart"]).rpartition("/")[2]: each for each in found}


@everywhere
def test_a_release_sets_only_values_that_its_chart_has(environment: str) -> None:
    assert len(releases(environment)) >= 7
    for chart, each in releases(environment).items():
        values = opened(each.inputs.get("values", {}))
        found = unknown_keys(values, read(chart)["keys"], FREE.get(chart, set()))
        assert found == [], f"{chart} has no such values"


def test_the_chart_of_efa_has_the_values_that_are_set() -> None:
    (release,) = (each for each in resources_with_efa() if "efa" in str(each.inputs.get("chart")))
    chart = read(str(release.inputs["chart"]))
    assert release.inputs["version"] == chart["version"]
    assert unknown_keys(opened(release.inputs["values"]), chart["keys"], set()) == []


@everywhere
def test_a_pinned_chart_is_the_one_whose_values_are_known(environment: str) -> None:
    for chart, each in releases(environment).items():
        assert each.inputs["version"] == read(chart)["version"], chart


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({"custom": {"scheduler_replica": 2}, "extra": 1}, ["custom.scheduler_replica", "extra"]),
        ({"extra": {"a": 1, "b": 2}}, ["extra"]),
        ({"args": {"anything": 1}, "empty": {"anything": 1}}, []),
        ({"labels": {"a.b": 1, "a": {"b": 2}}}, ["labels.a"]),
        ({"custom": {"scheduler_replicas": {"a": 1}}}, ["custom.scheduler_replicas.a"]),
    ],
)
def test_a_value_that_a_chart_lacks_is_seen(values: dict[str, Any], found: list[str]) -> None:
    defaults = {
        "custom": {"scheduler_replicas": 1},
        "args": {"a": 1},
        "empty": {},
        "labels": {"a.b": 1},
    }
    assert unknown_keys(values, [*paths(defaults)], {"args"}) == found
