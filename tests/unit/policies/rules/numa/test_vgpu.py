"""The rule on pools, charts and pods that want vGPU."""

from typing import Any

import pytest

from policies.rules.numa.vgpu import RULE
from settings.names import RELEASE
from tests.support.policies import gpu_pods, shipped_pools
from tests.support.policies.gpu_pods import KINDS, gpu_container
from tests.support.policies.shipped_pools import edited, pool, replaced

INSTEAD = "share GPUs by MIG (sharing: mig) or by time-slicing (sharing: time-slicing), not by vGPU"


def release(**values: Any) -> dict[str, Any]:
    spec = {"chart": "gpu-operator", "values": values}
    return {"kind": RELEASE, "metadata": {"name": "gpu-operator"}, "spec": spec}


def test_a_pool_that_shares_by_vgpu_is_refused() -> None:
    must = [f"gpu:pools:BareMetalPool 'p' must {INSTEAD}."]
    operators = "--node-labels=nvidia.com/gpu.workload.config=vm-vgpu,"

    assert shipped_pools.told(RULE, pool(sharing="vgpu")) == must
    by_label = replaced("/etc/sysconfig/kubelet", "--node-labels=", operators)
    assert shipped_pools.told(RULE, edited(pool(), by_label)) == must


@pytest.mark.parametrize("sharing", ["whole", "mig", "time-slicing", "mps"])
def test_every_other_way_passes(sharing: str) -> None:
    assert shipped_pools.told(RULE, pool(sharing=sharing)) == []


def test_a_chart_that_brings_it_is_refused() -> None:
    must = [f"Release 'gpu-operator' must {INSTEAD}."]
    default = {"enabled": True, "defaultWorkload": "vm-vgpu"}

    assert gpu_pods.told(RULE, release(vgpuManager={"enabled": True})) == must
    assert gpu_pods.told(RULE, release(sandboxWorkloads=default)) == must
    assert gpu_pods.told(RULE, release(vgpuManager={"enabled": False})) == []
    assert gpu_pods.told(RULE, release(sandboxWorkloads={"defaultWorkload": "container"})) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_pod_that_selects_such_nodes_is_refused(kind: str) -> None:
    for key, value in (
        ("fleet.gpu/sharing", "vgpu"),
        ("nvidia.com/gpu.workload.config", "vm-vgpu"),
    ):
        spec = {"containers": [gpu_container()], "nodeSelector": {key: value}}
        (said,) = gpu_pods.told(RULE, KINDS[kind](spec))
        assert said.endswith(f" must {INSTEAD}.")


def test_a_pod_that_selects_others_passes() -> None:
    sliced = gpu_pods.pod(gpu_container(), nodeSelector={"fleet.gpu/sharing": "time-slicing"})

    assert gpu_pods.told(RULE, sliced) == []
    assert gpu_pods.told(RULE, gpu_pods.pod(gpu_container())) == []
