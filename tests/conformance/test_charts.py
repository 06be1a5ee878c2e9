"""Every value that a release sets is one that its chart has, at the release that is pinned."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import upstream
from tests.conformance.test_crds import opened
from tests.conformance.upstream import unknown_keys
from tests.recorder import Registered
from tests.unit.stacks.programs import ENVIRONMENTS, resources

# keys below which a chart reads what it is given, though its default values are not empty
FREE = {
    "hcloud-cloud-controller-manager": {"args", "env"},
    # stands in the default values as a comment: config.name, config.create, config.data; and one of
    # a subchart, node-feature-discovery 0.19.0
    "gpu-operator": {"dcgmExporter.config", "node-feature-discovery.worker.resources"},
    # of subcharts, whose own default values the chart does not repeat
    "kube-prometheus-stack": {
        "kube-state-metrics.metricLabelsAllowlist",
        "prometheus-node-exporter.extraHostVolumeMounts",
    },
}
# No default values of these are among the schemas: their keys, from the Helm reference of Cilium
# (docs.cilium.io, helm-reference), of kured's values.yaml (github.com/kubereboot/charts), and of
# karpenter-crd, which is given none.
WITHOUT_SCHEMA: dict[str, dict[str, Any]] = {
    "cilium": {
        "routingMode": "",
        "tunnelProtocol": "",
        "MTU": 0,
        "encryption": {"enabled": False, "type": "ipsec", "nodeEncryption": False},
        "ipam": {
            "mode": "cluster-pool",
            "operator": {"clusterPoolIPv4PodCIDRList": [], "clusterPoolIPv4MaskSize": 24},
        },
        "k8sServiceHost": "",
        "k8sServicePort": "",
        "cni": {"resources": {"requests": {"cpu": "100m", "memory": "10Mi"}}},
        "kubeProxyReplacement": "false",
        "ingressController": {
            "enabled": False,
            "default": False,
            "loadbalancerMode": "dedicated",
            "enforceHttps": True,
            "service": {"name": "cilium-ingress", "annotations": {}, "type": "LoadBalancer"},
        },
    },
    "karpenter-crd": {},
    "kured": {
        "configuration": {
            "blockingPodSelector": [],
            "period": "",
            "rebootDays": [],
            "startTime": "",
            "endTime": "",
            "timeZone": "",
        },
        "tolerations": [],
    },
}

everywhere = pytest.mark.parametrize("environment", ENVIRONMENTS)


@cache
def releases(environment: str) -> Mapping[str, Registered]:
    """The releases of an environment by the chart's own name."""
    found = [each for each in resources(environment) if each.kind == "Release"]
    return {str(each.inputs["chart"]).rpartition("/")[2]: each for each in found}


def defaults(chart: str, shared: Path) -> dict[str, Any]:
    if chart in WITHOUT_SCHEMA:
        return WITHOUT_SCHEMA[chart]
    loaded = upstream.chart(shared, chart)
    assert isinstance(loaded, dict)
    return loaded


@everywhere
def test_a_release_sets_only_values_that_its_chart_has(environment: str, shared: Path) -> None:
    assert len(releases(environment)) >= len(WITHOUT_SCHEMA) + 4
    for chart, each in releases(environment).items():
        values = opened(each.inputs.get("values", {}))
        found = list(unknown_keys(values, defaults(chart, shared), FREE.get(chart, set())))
        assert found == [], f"{chart} has no such values"


@everywhere
def test_a_pinned_chart_is_the_one_whose_values_are_known(environment: str, shared: Path) -> None:
    for chart, each in releases(environment).items():
        path = shared / "schemas" / "charts" / chart / "Chart.yaml"
        if path.exists() and chart not in ("gpu-operator", "volcano"):  # v1.0.0-devel; a minor on
            known = upstream.read(path)["version"]
            assert str(each.inputs["version"]) == str(known), chart


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({"custom": {"scheduler_replica": 2}, "extra": 1}, ["custom.scheduler_replica", "extra"]),
        ({"args": {"anything": 1}, "empty": {"anything": 1}}, []),
        ({"custom": {"scheduler_replicas": {"a": 1}}}, ["custom.scheduler_replicas.a"]),
    ],
)
def test_a_value_that_a_chart_lacks_is_seen(values: dict[str, Any], found: list[str]) -> None:
    known = {"custom": {"scheduler_replicas": 1}, "args": {"a": 1}, "empty": {}}
    assert list(unknown_keys(values, known, {"args"})) == found
