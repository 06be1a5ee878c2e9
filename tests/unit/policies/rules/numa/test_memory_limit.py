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
    [{}, {"memory": 0}, {"memory": "many"}, {"cpu": 1}],
)
def test_a_pod_on_a_gpu_pool_needs_one_too(limits: dict[str, Any]) -> None:
    manifest = pod(container(limits=limits), **on("dgx"))

    assert told(RULE, manifest, DGX) == [f"Pod 'p': container 'main' {MUST}"]


def test_an_instance_of_mig_is_a_gpu() -> None:
    assert told(RULE, pod(container(requests={"nvidia.com/mig-1g.18gb": 1}))) != []


def test_limited_pods_and_pods_elsewhere_pass() -> None:
    assert told(RULE, pod(container(limits={"memory": "1Gi"}), **on("dgx")), DGX) == []
    assert told(RULE, pod(container(), **on("cpu")), DGX) == []
    assert told(RULE, pod(container()), DGX) == []


def test_no_gpu_in_so_many_words_is_none() -> None:
    assert told(RULE, pod(container(limits={"nvidia.com/gpu": 0}))) == []
    assert told(RULE, pod(container(limits={"nvidia.com/gpu": "0"}))) == []
