"""No pod but the one that needs it reaches the metadata of clouds."""

from collections.abc import Mapping
from typing import Any

import pytest
from pulumi_kubernetes.helm.v3 import Release

from components.platform.metadata_guard import MetadataGuard, MetadataGuardArgs, specs
from tests.support.recorder import named, render

NAMESPACE = "io.kubernetes.pod.namespace"


def selects(spec: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Reads a selector as Kubernetes does: every requirement must hold."""
    return all(
        (labels.get(each["key"].removeprefix("k8s:")) in each["values"])
        is (each["operator"] == "In")
        for each in spec["endpointSelector"]["matchExpressions"]
    )


def denied(namespace: str, **labels: str) -> bool:
    pod = {NAMESPACE: namespace} | {
        f"app.kubernetes.io/{key}": value for key, value in labels.items()
    }
    return any(selects(spec, pod) for spec in specs().values())


@pytest.mark.parametrize(
    ("namespace", "labels"),
    [
        ("research", {}),
        ("research", {"name": "hcloud-csi", "component": "node"}),
        ("kube-system", {}),
        ("kube-system", {"name": "karpenter"}),
        ("kube-system", {"name": "hcloud-csi", "component": "controller"}),
        ("kube-system", {"name": "other", "component": "node"}),
        ("default", {}),
    ],
)
def test_a_pod_may_not_reach_it(namespace: str, labels: dict[str, str]) -> None:
    assert denied(namespace, **labels)


def test_the_volume_driver_of_a_node_may() -> None:
    assert not denied("kube-system", name="hcloud-csi", component="node")


def test_a_pod_loses_this_one_way_out_and_no_other() -> None:
    for spec in specs().values():
        assert spec["egressDeny"] == [{"toCIDR": ["169.254.169.254/32", "fd00:ec2::254/128"]}]
        assert spec["enableDefaultDeny"] == {"egress": False, "ingress": False}
        assert spec.keys() == {"endpointSelector", "egressDeny", "enableDefaultDeny"}


def test_the_policies_wait_for_what_brings_their_kind() -> None:
    def program() -> None:
        cilium = Release("cilium", chart="cilium")
        MetadataGuard("metadata", MetadataGuardArgs(after=[cilium]))

    policies = named(render(program), "CiliumClusterwideNetworkPolicy").values()
    assert len(policies) == 3
    for each in policies:
        assert any(urn.endswith("::cilium") for urn in each.depends_on)
