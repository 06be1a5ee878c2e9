"""Resources of a whole pod, with which the kubelet aligns nothing."""

from typing import Any

import pytest

from policies.rules.numa.pod_level_resources import RULE
from tests.support.policies.gpu_pods import KINDS, container, gpu_container, on, pod, told
from tests.support.rule_facts import pool

DGX = pool()
WHOLE: dict[str, Any] = {"resources": {"limits": {"cpu": 8, "memory": "64Gi"}}}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "Workflow" not in kind])
def test_a_pod_with_gpus_must_have_its_resources_in_its_containers(kind: str) -> None:
    (said,) = told(RULE, KINDS[kind]({"containers": [gpu_container()], **WHOLE}))

    assert said.endswith(
        " must set resources in each container, not in spec.resources, with which the kubelet "
        "gives no container CPUs and memory of its own NUMA node."
    )


def test_a_pod_beside_gpus_must_too() -> None:
    assert told(RULE, pod(container(), **WHOLE, **on("dgx")), DGX) != []
    tolerating: dict[str, Any] = {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}
    assert told(RULE, pod(container(), **WHOLE, **tolerating), DGX) != []


def test_pods_elsewhere_and_pods_without_any_pass() -> None:
    assert told(RULE, pod(container(), **WHOLE), DGX) == []
    assert told(RULE, pod(container(), **WHOLE, **on("cpu")), DGX) == []
    assert told(RULE, pod(gpu_container()), DGX) == []
    assert told(RULE, pod(gpu_container(), resources={}), DGX) == []
    assert told(RULE, pod(gpu_container(), resources={"limits": {}}), DGX) == []
