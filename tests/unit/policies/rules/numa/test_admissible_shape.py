"""The rule on plain manifests: which pods no machine of a pool will ever admit."""

from typing import Any

import pytest

from policies.rules.numa.admissible_shape import RULE
from tests.support.policies.gpu_pods import KINDS, container, gpu_container, on, pod, told
from tests.support.rule_facts import pool, shape

SERVE = pool(
    "serve",
    shapes=[
        shape(gpus=4, cpus=108, memory_mib=1041920, hugepages_1gi_mib=32768, hugepages_2mi_mib=2048)
    ],
)
DGX = pool("dgx", shapes=[shape()])
CPU = pool("cpu", gpus=0)
FEW = {"cpus_in_multiples_of": 1, "memory_mib": 250000, "cpus": 30, "gpus": 2}
MANY = {"cpus_in_multiples_of": 1, "memory_mib": 500000, "cpus": 60}
ON_SERVE = "at most 4 GPUs, 108 CPUs in multiples of 2 and 1041920Mi of memory on pool 'serve'"
PAGES_ON_SERVE = (
    "at most 4 GPUs, 108 CPUs in multiples of 2, 1041920Mi of memory, 32768Mi of hugepages-1Gi and "
    "2048Mi of hugepages-2Mi on pool 'serve'"
)
BIG, SMALL = "hugepages-1Gi", "hugepages-2Mi"
ON_DGX = "at most 8 GPUs, 216 CPUs in multiples of 2 and 2083840Mi of memory on pool 'dgx'"


def violations(manifest: dict[str, Any]) -> list[str]:
    return told(RULE, manifest, SERVE, DGX)


@pytest.mark.parametrize("kind", KINDS)
def test_eight_gpus_on_a_pool_that_wants_one_numa_node_are_refused(kind: str) -> None:
    (said,) = violations(KINDS[kind]({"containers": [gpu_container(gpus=8)], **on("serve")}))

    assert said.endswith(f" must ask for {ON_SERVE}.")
    assert violations(KINDS[kind]({"containers": [gpu_container(gpus=8)], **on("dgx")})) == []


@pytest.mark.parametrize(
    "limits",
    [
        {"cpu": 110},
        {"cpu": 7},
        {"cpu": "7000m"},
        {"memory": "1018Gi"},
        {"cpu": "99999999999999999999"},
        {"gpus": 5},
    ],
)
def test_a_pod_larger_than_a_numa_node_is_refused_with_the_size_of_the_node(
    limits: dict[str, Any],
) -> None:
    assert violations(pod(gpu_container(**limits), **on("serve"))) == [
        f"Pod 'p' must ask for {ON_SERVE}."
    ]


@pytest.mark.parametrize(
    "limits",
    [{"cpu": 108, "gpus": 4, "memory": "1041920Mi"}, {"cpu": "7.5"}, {"gpus": 0, "cpu": 500}],
)
def test_pods_that_fit_a_numa_node_and_pods_without_gpus_pass(limits: dict[str, Any]) -> None:
    assert violations(pod(gpu_container(**limits), **on("serve"))) == []


@pytest.mark.parametrize(
    "limits", [{BIG: "33Gi"}, {BIG: "64Gi"}, {SMALL: "2050Mi"}, {BIG: "1Gi", "gpus": 5}]
)
def test_huge_pages_of_two_numa_nodes_are_refused_with_those_of_one(limits: dict[str, Any]) -> None:
    assert violations(pod(gpu_container(**limits), **on("serve"))) == [
        f"Pod 'p' must ask for {PAGES_ON_SERVE}."
    ]


def test_huge_pages_of_a_numa_node_pass_beside_all_of_its_memory() -> None:
    every = {"cpu": 108, "memory": "1041920Mi", BIG: "32Gi", SMALL: "2Gi"}

    assert violations(pod(gpu_container(gpus=4, **every), **on("serve"))) == []
    assert violations(pod(container(limits={BIG: "64Gi"}), **on("serve"))) == []
    assert violations(pod(gpu_container(**{BIG: 0}), **on("dgx"))) == []


def test_huge_pages_of_containers_count_together_and_of_init_containers_each() -> None:
    some, first = gpu_container(**{BIG: "20Gi"}), gpu_container("i", **{BIG: "20Gi"})

    assert violations(pod(some, initContainers=[first], **on("serve"))) == []
    assert violations(pod(some, gpu_container("b", **{BIG: "20Gi"}), **on("serve"))) != []


def test_a_pod_with_huge_pages_needs_all_of_it_from_the_same_numa_node() -> None:
    odd = pool("odd", shapes=[shape(**FEW, hugepages_1gi_mib=1024), shape(**MANY, gpus=2)])

    assert told(RULE, pod(gpu_container(cpu=30, **{BIG: "1Gi"}), **on("odd")), odd) == []
    assert told(RULE, pod(gpu_container(cpu=60), **on("odd")), odd) == []
    assert told(RULE, pod(gpu_container(cpu=60, **{BIG: "1Gi"}), **on("odd")), odd) != []


def test_containers_count_together_and_init_containers_each() -> None:
    three = gpu_container(gpus=3)
    assert violations(pod(three, gpu_container("b", gpus=2), **on("serve"))) != []
    assert violations(pod(three, initContainers=[gpu_container("i", gpus=3)], **on("serve"))) == []
    assert violations(pod(three, initContainers=[gpu_container("i", gpus=5)], **on("serve"))) != []


def test_a_pod_that_selects_no_pool_is_refused_only_where_none_admits_it() -> None:
    assert violations(pod(gpu_container(gpus=8))) == []
    assert violations(pod(gpu_container(gpus=9))) == [
        f"Pod 'p' must ask for {ON_SERVE} or {ON_DGX}."
    ]


def test_a_pool_may_have_one_shape_for_few_gpus_and_another_for_more() -> None:
    odd = pool("odd", shapes=[shape(**MANY, gpus=1), shape(**FEW)])

    assert told(RULE, pod(gpu_container(cpu=60), **on("odd")), odd) == []
    assert told(RULE, pod(gpu_container(gpus=2, cpu=60), **on("odd")), odd) != []


def test_resources_of_the_whole_pod_count_in_place_of_its_containers() -> None:
    whole = {"resources": {"limits": {"cpu": 400}}}

    assert violations(pod(gpu_container(), **whole)) != []
    assert violations(pod(gpu_container(cpu=400), resources={"requests": {"cpu": 8}})) == []


@pytest.mark.parametrize(
    "manifest",
    [
        pod(container(limits={"cpu": "abc"})),
        pod(gpu_container(gpus=64), **on("nobody")),
        {"apiVersion": "v1", "kind": "Pod"},
        {"kind": "ConfigMap", "metadata": {"name": "c"}},
    ],
)
def test_other_pools_and_other_things_are_left_alone(manifest: dict[str, Any]) -> None:
    assert violations(manifest) == []


def test_without_known_pools_there_is_nothing_to_hold_a_pod_to() -> None:
    assert told(RULE, pod(gpu_container(gpus=64))) == []


@pytest.mark.parametrize("kind", KINDS)
def test_gpus_on_a_pool_that_has_none_are_refused(kind: str) -> None:
    found = KINDS[kind]({"containers": [gpu_container()], **on("cpu")})

    (said,) = told(RULE, found, SERVE, CPU)

    assert said.endswith(" must ask for no nvidia.com/gpu on pool 'cpu', which has none.")


def test_a_pool_without_gpus_is_no_advice() -> None:
    assert told(RULE, pod(gpu_container(gpus=5)), CPU, SERVE) == [
        f"Pod 'p' must ask for {ON_SERVE}."
    ]
    assert told(RULE, pod(container(limits={"cpu": 8}), **on("cpu")), CPU) == []


def test_a_sidecar_counts_with_the_containers_because_it_runs_with_them() -> None:
    def beside(**fields: str) -> list[str]:
        first = {**gpu_container("i", gpus=0, cpu=60), **fields}
        return violations(pod(gpu_container(cpu=60), initContainers=[first], **on("serve")))

    assert beside(restartPolicy="Always") == [f"Pod 'p' must ask for {ON_SERVE}."]
    assert beside() == []


def test_a_pool_that_a_workflow_selects_for_all_its_pods_counts() -> None:
    found = KINDS["Workflow"]({"containers": [gpu_container(gpus=8)]})
    found["spec"]["nodeSelector"] = {"fleet.gpu/pool": "serve"}

    assert violations(found) == [f"Workflow 'p', 'step' must ask for {ON_SERVE}."]

    found["spec"]["templates"][0]["nodeSelector"] = {"fleet.gpu/pool": "dgx"}
    assert violations(found) == []
