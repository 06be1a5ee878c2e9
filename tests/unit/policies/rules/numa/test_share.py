"""The rule on plain manifests: what a pod may take beside each of its GPUs."""

from typing import Any

import pytest

from policies.rules.numa.share import RULE
from tests.support.policies.gpu_pods import container, gpu_container, on, pod, told
from tests.support.rule_facts import pool

DGX = pool(cpus_per_gpu=27, memory_mib_per_gpu=260480)
SHARE = "Pod 'p' must ask for at most 27 CPUs and 260480Mi of memory for each GPU on pool 'dgx'."


@pytest.mark.parametrize(
    "limits", [{"cpu": 28}, {"memory": "300Gi"}, {"gpus": 2, "cpu": 55}, {"cpu": "27100m"}]
)
def test_a_pod_that_takes_more_than_its_gpus_share_is_told_the_share(
    limits: dict[str, Any],
) -> None:
    assert told(RULE, pod(gpu_container(**limits), **on("dgx")), DGX) == [SHARE]


@pytest.mark.parametrize(
    "limits",
    [
        {"cpu": 27, "memory": "260480Mi"},
        {"gpus": 8, "cpu": 216, "memory": "2083840Mi"},
        {"gpus": 0, "cpu": 100},
    ],
)
def test_a_pod_within_its_share_passes(limits: dict[str, Any]) -> None:
    assert told(RULE, pod(gpu_container(**limits), **on("dgx")), DGX) == []


def test_a_pod_without_a_pool_must_fit_one_of_them() -> None:
    wide = pool("wide", cpus_per_gpu=48, memory_mib_per_gpu=1)

    assert told(RULE, pod(gpu_container(cpu=28, memory="1Mi")), DGX, wide) == []
    assert told(RULE, pod(gpu_container(cpu=28, memory="1Gi")), DGX, wide) == [
        SHARE[:-1] + " or at most 48 CPUs and 1Mi of memory for each GPU on pool 'wide'."
    ]


def test_pods_without_gpus_are_left_alone() -> None:
    assert told(RULE, pod(container(limits={"cpu": 400})), DGX) == []
    assert told(RULE, pod(gpu_container(cpu=400))) == []
