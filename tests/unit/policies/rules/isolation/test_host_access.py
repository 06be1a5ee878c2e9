"""The rule on plain manifests: no pod has access to its node."""

from typing import Any

import pytest

from policies.rules.isolation.host_access import RULE
from tests.support.policies.gpu_pods import KINDS, container, pod

Object = dict[str, Any]
FAULTS: dict[str, tuple[Object, Object]] = {
    "must not share the host's network.": ({"hostNetwork": True}, {}),
    "must not share the host's processes.": ({"hostPID": True}, {}),
    "must not share the host's memory.": ({"hostIPC": True}, {}),
    "must not mount a path of the host.": ({"volumes": [{"hostPath": {"path": "/"}}]}, {}),
    "must not have a privileged container.": ({}, {"securityContext": {"privileged": True}}),
    "must not take a port of the host.": ({}, {"ports": [{"hostPort": 8080}]}),
    "must not add a capability beyond those that are allowed.": (
        {},
        {"securityContext": {"capabilities": {"add": ["CHOWN", "SYS_NICE"]}}},
    ),
}


def told(manifest: Object, **settings: object) -> list[str]:
    assert RULE.predicate is not None
    return RULE.predicate(manifest, {**RULE.defaults(), **settings})


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_part_of_the_node_is_refused_in_every_kind(kind: str, fault: str) -> None:
    spec, fields = FAULTS[fault]

    (said,) = told(KINDS[kind]({"containers": [container(), container("side", **fields)], **spec}))

    assert said.endswith(f" {fault}")


@pytest.mark.parametrize("field", ["initContainers", "ephemeralContainers"])
def test_containers_before_and_beside_those_of_the_pod_count(field: str) -> None:
    manifest = pod(container())
    manifest["spec"][field] = [container("debug", securityContext={"privileged": True})]

    assert told(manifest) == ["Pod 'p' must not have a privileged container."]


@pytest.mark.parametrize("kind", ["Workflow", "CronWorkflow"])
@pytest.mark.parametrize("fault", ["network", "path"])
def test_host_access_of_a_workflows_steps_is_refused(kind: str, fault: str) -> None:
    said, (spec, _) = next(each for each in FAULTS.items() if fault in each[0])
    manifest = KINDS[kind]({"containers": [container()]})
    inner = manifest["spec"]
    (inner["workflowSpec"] if kind == "CronWorkflow" else inner).update(spec)

    (found,) = told(manifest)

    assert found.endswith(f" {said}")


def test_a_pod_of_its_own_passes() -> None:
    capabilities = {"add": ["NET_BIND_SERVICE", "CHOWN"], "drop": ["ALL"]}
    context = {"privileged": False, "capabilities": capabilities}
    ports = [{"containerPort": 80, "hostPort": 0}, {"containerPort": 81}]
    quiet = container(securityContext=context, ports=ports)

    manifest = pod(quiet, volumes=[{"emptyDir": {}}], hostNetwork=False)

    assert told(manifest) == []


def test_a_capability_of_the_setting_passes() -> None:
    locking = pod(container(securityContext={"capabilities": {"add": ["IPC_LOCK"]}}))

    assert told(locking) != []
    assert told(locking, capabilities=["IPC_LOCK"]) == []


def test_system_parts_may_and_others_are_not_system_parts() -> None:
    manifest = pod(container(), hostNetwork=True)
    manifest["metadata"]["namespace"] = "gpu-operator"

    assert told(manifest) == []
    assert told(manifest, namespaces=["kube-system"]) != []
