"""The resources of each environment agree: every name that one uses, another defines."""

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.environments import ENVIRONMENTS
from tests.support.environments import resources as registered
from tests.support.recorder import Registered
from tests.unit.stacks.agreement import undefined_names
from tests.unit.stacks.described import Environment, opened
from tests.unit.stacks.references import references


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_every_name_is_defined_by_some_resource(environment: str) -> None:
    whole = Environment(list(registered(environment)))
    assert [*undefined_names(whole), *references(whole)] == []


def test_the_checks_have_something_to_look_at() -> None:
    found = Environment(list(registered("dev")))
    assert {pool for pool, *_ in found.nodes()} == {"dgx", "burst", "cpu"}
    assert {"cilium", "gpu-operator", "karpenter", "volcano", "hcloud-csi"} <= set(found.releases)
    for kind in ("Secret", "Queue", "Namespace", "NodePool", "EC2NodeClass", "PriorityClass"):
        assert found.of(kind), kind


def without(name: str) -> Callable[[list[Registered]], list[Registered]]:
    """Return a function that removes a resource by its name in Pulumi."""

    def change(resources: list[Registered]) -> list[Registered]:
        kept = [each for each in resources if each.name != name]
        assert len(kept) == len(resources) - 1, f"there is no {name}"
        return kept

    return change


def with_input(name: str, path: str, value: Any) -> Callable[[list[Registered]], list[Registered]]:
    """Return a function that changes one input of a resource."""

    def change(resources: list[Registered]) -> list[Registered]:
        (found,) = [each for each in resources if each.name == name and each.custom]
        inputs = copy.deepcopy(opened(found.inputs))
        *steps, last = path.split("/")
        parent = inputs
        for step in steps:
            parent = parent[int(step)] if isinstance(parent, list) else parent.setdefault(step, {})
        parent[last] = value
        changed = dataclasses.replace(found, inputs=inputs)
        return [changed if each is found else each for each in resources]

    return change


BROKEN = {
    "a Secret that is gone": (
        without("karpenter-access-secret"),
        "Secret kube-system/karpenter-aws is made by nobody",
    ),
    "the token of Hetzner gone": (
        without("hetzner-cloud-secret"),
        "Secret kube-system/hcloud is made by nobody",
    ),
    "the keys of lakeFS gone": (
        without("lakefs-server-keys"),
        "Secret lakefs/lakefs-keys is made by nobody",
    ),
    "Hetzner's volumes gone": (
        without("hetzner-cloud-volumes"),
        "storage class hcloud-volumes is made by nobody",
    ),
    "Prometheus gone": (
        without("monitoring-release"),
        "the kind PrometheusRule of monitoring.coreos.com is brought by nobody",
    ),
    "a BMC's login gone": (without("dgx-bmc"), "Secret metal3-dgx/bmc is made by nobody"),
    "a namespace gone": (without("dgx-namespace"), "namespace metal3-dgx is made by nobody"),
    "a queue gone": (without("teams-research-research"), "queue research is made by nobody"),
    "a node class gone": (
        without("burst-class"),
        "NodePool burst-reserved refers to an EC2NodeClass that nobody makes",
    ),
    "an instance profile gone": (
        without("burst-boot-profile"),
        "EC2NodeClass burst has the instance profile fleet-dev-burst-node, made by nobody",
    ),
    "a policy gone": (
        without("karpenter-access-lifecycle"),
        "Karpenter may not pass the role of EC2NodeClass burst",
    ),
    "the queue of warnings gone": (
        without("karpenter-warnings-queue"),
        "Karpenter listens to the queue fleet-dev-interruptions, made by nobody",
    ),
    "no cloud controller": (
        without("hetzner-cloud-controller"),
        "nodes of pool cpu wait for a cloud controller that nobody installs",
    ),
    "no GPU Operator": (
        without("gpu-operator-release"),
        "nobody tolerates or removes the taint nvidia.com/gpu of pool dgx",
    ),
    "Volcano gone": (
        without("volcano-release"),
        "the kind Queue of scheduling.volcano.sh is brought by nobody",
    ),
    "kinds brought twice": (
        with_input("karpenter-controller", "skipCrds", False),
        "the kinds of karpenter.sh are brought by karpenter-crd and by karpenter",
    ),
    "a label that no node has": (
        with_input("hetzner-cloud-volumes", "values/node/nodeSelector", {"fleet.gpu/pool": "big"}),
        "no node has fleet.gpu/pool=big",
    ),
    "a label that nobody gives": (
        with_input("hetzner-cloud-volumes", "values/node/nodeSelector", {"role": "system"}),
        "the node label role is given by nobody",
    ),
    "a taint that is only promised": (
        with_input(
            "burst-spot", "spec/template/spec/taints", [{"key": "burst", "effect": "NoSchedule"}]
        ),
        "NodePool burst-spot promises the taint burst, its nodes have it not",
    ),
    "an unknown priority": (
        with_input("karpenter-controller", "values/priorityClassName", "urgent"),
        "priority class urgent is made by nobody",
    ),
    "an unknown storage class": (
        with_input("volcano-release", "values/storageClassName", "fast"),
        "storage class fast is made by nobody",
    ),
    "an unknown service": (
        with_input("volcano-release", "values/url", "http://lakefs.data.svc:80"),
        "service lakefs.data is made by nobody",
    ),
    "a ConfigMap that is only named": (
        with_input("gpu-operator-release", "values/devicePlugin/config/create", False),
        "gpu-operator is told of the ConfigMap fleet-device-plugin-",
    ),
    "a configuration that no ConfigMap has": (
        with_input("gpu-operator-release", "values/devicePlugin/config/data", {"mps-2": ""}),
        "pool dgx wants the device plugin's configuration whole, made by nobody",
    ),
    "a chart of another release": (
        with_input("cilium-release", "version", "1.0.0"),
        "chart cilium 1.0.0 is not pinned in settings/versions.py",
    ),
    "an image of another release": (
        with_input("volcano-release", "values/basic/image_tag_version", "latest"),
        "volcano sets the image latest, not pinned in settings/versions.py",
    ),
    "an account gone": (
        without("node-check-account"),
        "ServiceAccount fleet-node-check/fleet-node-check is made by nobody",
    ),
    "a role gone": (
        without("node-check-role"),
        "ClusterRoleBinding fleet-node-check refers to a role that nobody makes",
    ),
    "a program gone": (
        without("node-check-program"),
        "ConfigMap fleet-node-check/fleet-node-check-",
    ),
    "an admission policy gone": (
        without("node-check-policy"),
        "ValidatingAdmissionPolicyBinding fleet-node-check binds a policy that nobody makes",
    ),
    "an image of a pod that nobody pins": (
        with_input("node-check-pods", "spec/template/spec/containers/0/image", "python:latest"),
        "the image python:latest is not pinned in settings/versions.py",
    ),
    "a taint that no node has is tolerated": (
        with_input("kured-release", "values/tolerations", [{"key": "gpu", "operator": "Exists"}]),
        "the taint gpu is tolerated and given by nobody",
    ),
    "a domain without nodes": (
        with_input(
            "pools-dgx",
            "spec/members/0/selector/labelMatch/matchLabels",
            {"fleet.gpu/pool": "hgx"},
        ),
        "HyperNode pool-dgx is of nodes with fleet.gpu/pool=hgx, and there are none",
    ),
    "a namespace that nobody fills is monitored": (
        with_input("monitoring-volcano", "spec/namespaceSelector/matchNames", ["volcano"]),
        "ServiceMonitor volcano looks into the namespace volcano, made by nobody",
    ),
    "an ingress that nobody serves": (
        with_input(
            "lakefs-server-release",
            "values/ingress",
            {"enabled": True, "ingressClassName": "cilium", "tls": [{"secretName": "other"}]},
        ),
        "nobody serves the ingress class cilium of lakefs",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_missing_resource_is_found(case: str) -> None:
    change, says = BROKEN[case]
    broken = Environment(change(list(registered("dev"))))
    found = [*undefined_names(broken), *references(broken)]
    assert any(fault.startswith(says) for fault in found), found
