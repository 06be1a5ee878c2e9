"""The rule on plain manifests: no pod beside GPUs without a limit of its memory."""

from typing import Any

import pytest

from policies.rules.numa.memory_limit import RULE
from tests.support.policies.gpu_pods import KINDS, container, gpu_container, on, pod, told
from tests.support.rule_facts import pool

DGX = pool()
MUST = "must set limits.memory to more than 0."


@pytest.mark.parametrize("kind", KINDS)
def test_every_container_beside_gpus_needs_a_limit(kind: str) -> None:
    unlimited = KINDS[kind]({"containers": [gpu_container(), container("log")]})

    (said,) = told(RULE, unlimited)

    assert said.endswith(f": container 'log' {MUST}")


@pytest.mark.parametrize(
    "limits",
    [{}, {"memory": 0}, {"cpu": 1}],
)
def test_a_pod_on_a_gpu_pool_needs_one_too(limits: dict[str, Any]) -> None:
    manifest = pod(container(limits=limits), **on("dgx"))

    assert told(RULE, manifest, DGX) == [f"Pod 'p': container 'main' {MUST}"]


TAINT: dict[str, Any] = {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}
ANY_TAINT: dict[str, Any] = {"tolerations": [{"operator": "Exists"}]}
HOST: dict[str, Any] = {"nodeSelector": {"kubernetes.io/hostname": "dgx-01"}}


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    found = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [*terms]}}
    return {"affinity": {"nodeAffinity": found}}


def asked(key: str, *values: str, operator: str = "In") -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": [*values]}]}


NOT_CPU = {
    "matchExpressions": [
        {"key": "fleet.gpu/pool", "operator": "NotIn", "values": ["cpu"]},
        {"key": "fleet.gpu/pool", "operator": "Exists"},
    ]
}
FIELD = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["dgx-01"]}]}


@pytest.mark.parametrize(
    "spec",
    [
        TAINT,
        {"nodeName": "dgx-01"},
        {**HOST, **ANY_TAINT},
        {**required(FIELD), **ANY_TAINT},
        {"nodeSelector": {"nvidia.com/gpu.present": "true"}},
        {"nodeSelector": {"node.kubernetes.io/instance-type": "p5en.48xlarge"}},
        required(asked("nvidia.com/gpu.product", operator="Exists")),
        required(asked("fleet.gpu/pool", "dgx")),
        required(asked("fleet.gpu/pool", "cpu", "dgx")),
        required(asked("fleet.gpu/pool", "cpu"), asked("fleet.gpu/pool", "dgx")),
        required(asked("nvidia.com/gpu.count", "0", operator="Gt")),
        required(asked("nvidia.com/gpu.count", "9", operator="Lt")),
        required(asked("nvidia.com/gpu.present", "false", operator="NotIn")),
        {**required(asked("fleet.gpu/pool", operator="Exists")), **ANY_TAINT},
        {**required(asked("fleet.gpu/pool", "cpu", operator="NotIn")), **ANY_TAINT},
        {**required(NOT_CPU, asked("fleet.gpu/pool", "dgx")), **ANY_TAINT},
    ],
)
def test_gpu_nodes_that_are_chosen_in_another_way_are_gpu_nodes(spec: dict[str, Any]) -> None:
    assert told(RULE, pod(container(), **spec), DGX) == [f"Pod 'p': container 'main' {MUST}"]


@pytest.mark.parametrize(
    "spec",
    [
        ANY_TAINT,
        HOST,
        {**TAINT, **on("cpu")},
        {"nodeSelector": {"nvidia.com/gpu.present": "false"}},
        {"nodeSelector": {"node.kubernetes.io/instance-type": "m7i.large"}},
        required(asked("nvidia.com/gpu.present", operator="DoesNotExist")),
        required(asked("fleet.gpu/pool", "dgx"), asked("other", "x")),
        required(asked("fleet.gpu/pool", "dgx", operator="NotIn")),
        {**required(asked("fleet.gpu/pool", "dgx", operator="NotIn")), **ANY_TAINT},
        {**required(asked("fleet.gpu/pool", operator="DoesNotExist")), **ANY_TAINT},
        {**required(NOT_CPU, asked("other", "x")), **ANY_TAINT},
        required(NOT_CPU),
        required(asked("fleet.gpu/pool", operator="Exists")),
        required(asked("nvidia.com/gpu.count", "1", operator="Lt")),
        required(asked("nvidia.com/gpu.product", "A100", operator="NotIn")),
        required(asked("cores", "0", operator="Gt")),
        required(),
    ],
)
def test_a_pod_that_may_go_elsewhere_needs_no_limit(spec: dict[str, Any]) -> None:
    assert told(RULE, pod(container(), **spec), DGX) == []


def test_the_systems_own_daemons_need_none_unless_they_name_a_pool() -> None:
    daemon = pod(container(), **TAINT)
    daemon["metadata"]["namespace"] = "gpu-operator"
    named = pod(container(), **on("dgx"))
    named["metadata"]["namespace"] = "gpu-operator"

    assert told(RULE, daemon, DGX) == []
    assert told(RULE, named, DGX) != []


def test_a_pod_that_was_bound_or_is_a_mirror_is_on_no_node_by_its_own_word() -> None:
    bound = pod(container(), nodeName="dgx-01")
    bound["metadata"]["uid"] = "0-1"
    owned = pod(container(), **required(FIELD), **ANY_TAINT)
    owned["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "name": "log"}]

    assert told(RULE, bound, DGX) == []
    assert told(RULE, owned, DGX) == []


def test_a_limit_of_the_whole_pod_counts() -> None:
    assert told(RULE, pod(container(), **on("dgx"), resources={"limits": {"memory": 1}}), DGX) == []
    assert told(RULE, pod(container(), **on("dgx"), resources={"limits": {"cpu": 1}}), DGX) != []


def test_an_instance_of_mig_is_a_gpu() -> None:
    assert told(RULE, pod(container(requests={"nvidia.com/mig-1g.18gb": 1}))) != []


def test_limited_pods_and_pods_elsewhere_pass() -> None:
    assert told(RULE, pod(container(limits={"memory": "1Gi"}), **on("dgx")), DGX) == []
    assert told(RULE, pod(container(), **on("cpu")), DGX) == []
    assert told(RULE, pod(container()), DGX) == []


def test_no_gpu_in_so_many_words_is_none() -> None:
    assert told(RULE, pod(container(limits={"nvidia.com/gpu": 0}))) == []
    assert told(RULE, pod(container(limits={"nvidia.com/gpu": "0"}))) == []
