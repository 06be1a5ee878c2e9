"""The rule on plain manifests: which pods with GPUs the kubelet will align, and which not."""

from typing import Any

import pytest

from policies.rules.numa.guaranteed_qos import RULE
from tests.support.policies.gpu_pods import GPU, KINDS, container, gpu_container, pod


def violations(manifest: dict[str, Any]) -> list[str]:
    assert RULE.predicate is not None
    return RULE.predicate(manifest, RULE.defaults())


@pytest.mark.parametrize("kind", KINDS)
def test_a_guaranteed_pod_with_whole_cpus_passes_in_every_kind(kind: str) -> None:
    assert violations(KINDS[kind]({"containers": [gpu_container(), container("log")]})) != []
    assert violations(KINDS[kind]({"containers": [gpu_container()]})) == []


@pytest.mark.parametrize(
    ("kind", "subject"),
    [
        ("Pod", "Pod 'p'"),
        ("CronJob", "CronJob 'p'"),
        ("Volcano Job", "Job 'p', 'worker'"),
        ("MPIJob", "MPIJob 'p', 'Worker'"),
        ("Workflow", "Workflow 'p', 'step'"),
    ],
)
def test_the_sentence_names_the_object_the_template_and_the_container(
    kind: str, subject: str
) -> None:
    (said,) = violations(KINDS[kind]({"containers": [gpu_container(cpu="7.5")]}))

    assert said == (f"{subject}: container 'main' must have a whole number of CPUs in limits.cpu.")


@pytest.mark.parametrize(
    ("fields", "must"),
    [
        ({"limits": {GPU: 1, "memory": "1Gi"}}, "set limits.cpu."),
        ({"limits": {GPU: 1, "cpu": 1}}, "set limits.memory."),
        ({"requests": {GPU: 1, "cpu": 1, "memory": "1Gi"}}, "set limits.cpu."),
        (
            {"limits": {GPU: 1, "cpu": 2, "memory": "1Gi"}, "requests": {"cpu": 1}},
            "have requests.cpu equal to limits.cpu.",
        ),
        (
            {"limits": {GPU: 1, "cpu": 2, "memory": "2Gi"}, "requests": {"memory": "1Gi"}},
            "have requests.memory equal to limits.memory.",
        ),
        (
            {"limits": {GPU: 1, "cpu": "8000m", "memory": "1Gi"}, "requests": {"cpu": "7999m"}},
            "have requests.cpu equal to limits.cpu.",
        ),
        (
            {"limits": {GPU: 1, "cpu": "500m", "memory": "1Gi"}},
            "have a whole number of CPUs in limits.cpu.",
        ),
    ],
)
def test_a_container_that_breaks_the_class_is_told_what_it_must_have(
    fields: dict[str, Any], must: str
) -> None:
    assert violations(pod(container(**fields))) == [f"Pod 'p': container 'main' must {must}"]


@pytest.mark.parametrize(
    "limits",
    [
        {"cpu": "8000m"},
        {"cpu": "8.0"},
        {"cpu": "1e3"},
        {"cpu": 99999999999999999999},
        {"memory": "1.5Gi"},
        {"memory": "1024M"},
    ],
)
def test_quantities_in_any_notation_pass(limits: dict[str, object]) -> None:
    assert violations(pod(gpu_container(**limits))) == []


def test_a_pod_with_a_part_of_a_gpu_need_not_be_guaranteed() -> None:
    shared = {"nodeSelector": {"fleet.gpu/sharing": "time-slicing"}}

    assert violations(pod(gpu_container(cpu="0.5"), **shared)) == []


def test_equal_amounts_in_two_notations_are_equal() -> None:
    both = {"limits": {GPU: 1, "cpu": 2, "memory": "1Gi"}}
    written = {"requests": {"cpu": "2000m", "memory": "1024Mi"}}

    assert violations(pod(container(**both, **written))) == []


def test_init_containers_count_for_the_class_and_ephemeral_ones_do_not() -> None:
    late = pod(gpu_container(), ephemeralContainers=[{"name": "debug", "image": "x"}])

    assert violations(late) == []
    assert violations(pod(gpu_container(), initContainers=[container("fetch")])) == [
        "Pod 'p': container 'fetch' must set limits.cpu."
    ]


@pytest.mark.parametrize(
    "manifest",
    [
        pod(container()),
        pod(gpu_container(gpus=0, cpu="0.5")),
        pod(container(limits={"nvidia.com/mig-1g.18gb": 1})),
        {"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {}},
        {"apiVersion": "v1", "kind": "Pod"},
        {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": None}},
        {"apiVersion": "example.com/v1", "kind": "Job", "spec": {"template": {}}},
    ],
)
def test_pods_without_whole_gpus_and_other_things_are_left_alone(manifest: dict[str, Any]) -> None:
    assert violations(manifest) == []
