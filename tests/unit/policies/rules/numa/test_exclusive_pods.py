"""The rule on plain manifests: pools whose CPUs nothing balances are for exclusive pods."""

import pytest

from policies.rules.numa.exclusive_pods import RULE
from tests.support.policies.gpu_pods import KINDS, container, on, pod, told
from tests.support.rule_facts import pool

DGX = pool(exclusive=True)
WHOLE = container(limits={"cpu": 2, "memory": "1Gi"})


@pytest.mark.parametrize("kind", KINDS)
def test_a_pod_without_cpus_of_its_own_is_refused_on_an_exclusive_pool(kind: str) -> None:
    shared = KINDS[kind]({"containers": [WHOLE, container("log")], **on("dgx")})

    (said,) = told(RULE, shared, DGX)

    assert said.endswith(": container 'log' must set limits.cpu.")
    assert told(RULE, KINDS[kind]({"containers": [WHOLE], **on("dgx")}), DGX) == []


def test_a_fraction_of_a_cpu_is_refused_there() -> None:
    half = container(limits={"cpu": "500m", "memory": "1Gi"})

    assert told(RULE, pod(half, **on("dgx")), DGX) == [
        "Pod 'p': container 'main' must have a whole number of CPUs in limits.cpu."
    ]


def test_pods_of_other_pools_and_of_none_are_left_alone() -> None:
    assert told(RULE, pod(container(), **on("cpu")), DGX) == []
    assert told(RULE, pod(container()), DGX) == []
    assert told(RULE, pod(container(), **on("dgx"))) == []
