"""The rule on pools and charts with MPS."""

from typing import Any

import pytest
import yaml

from policies.rules.numa.mps import RULE
from tests.support.policies import gpu_pods, shipped_pools
from tests.support.policies.shipped_pools import edited, pool, replaced
from tests.unit.policies.rules.numa.test_vgpu import release

INSTANCES = "have MPS on whole GPUs, not on MIG instances"
BOTH = "have either MPS or time-slicing"
GPUS = {"resources": [{"name": "nvidia.com/gpu", "replicas": 4}]}
SLICES = {"resources": [{"name": "nvidia.com/mig-1g.18gb", "replicas": 2}]}


def registers(sharing: str, config: str, **more: str) -> list[str]:
    labels = {"nvidia.com/device-plugin.config": config, **more}
    text = "".join(f"{key}={value}," for key, value in labels.items())
    edit = replaced("/etc/sysconfig/kubelet", "--node-labels=", f"--node-labels={text}")
    told = shipped_pools.told(RULE, edited(pool(sharing=sharing), edit))
    return [each.removeprefix("gpu:pools:BareMetalPool 'p' must ") for each in told]


def configures(**sharing: Any) -> list[str]:
    text = yaml.safe_dump({"version": "v1", "sharing": sharing})
    config = {"config": {"data": {"mine": text}}}
    said = gpu_pods.told(RULE, release(devicePlugin=config))
    end = ", in its device plugin configuration 'mine'."
    assert all(each.endswith(end) for each in said)
    return [each.removeprefix("Release 'gpu-operator' must ").removesuffix(end) for each in said]


@pytest.mark.parametrize("sharing", ["whole", "mig", "time-slicing-4", "mps-4"])
def test_one_way_of_sharing_passes(sharing: str) -> None:
    mode = sharing.removesuffix("-4")

    assert registers(mode, sharing) == []


def test_mps_on_mig_is_refused() -> None:
    assert registers("mig", "mps-4") == [f"{INSTANCES}."]
    cut = {"nvidia.com/mig.config": "pool-p"}
    assert registers("mps", "mps-4", **cut) == [f"{INSTANCES}."]
    assert registers("mig", "mig", **cut) == []


def test_mps_with_time_slicing_is_refused() -> None:
    assert registers("time-slicing", "mps-4") == [f"{BOTH}."]
    assert registers("mps", "time-slicing-4") == [f"{BOTH}."]


def test_a_configuration_of_one_way_passes() -> None:
    assert configures(mps=GPUS) == []
    assert configures(timeSlicing=SLICES) == []
    assert configures() == []


def test_a_configuration_of_both_or_on_instances_is_refused() -> None:
    assert configures(mps=GPUS, timeSlicing=GPUS) == [BOTH]
    assert configures(mps=SLICES) == [INSTANCES]


def test_a_configuration_that_is_no_yaml_is_refused() -> None:
    broken = release(devicePlugin={"config": {"data": {"mine": "a: [b"}}})

    (said,) = gpu_pods.told(RULE, broken)
    assert " must have device plugin configurations of YAML, in its device plugin config" in said


def test_values_without_mps_pass() -> None:
    assert gpu_pods.told(RULE, release()) == []
    assert gpu_pods.told(RULE, gpu_pods.pod(gpu_pods.gpu_container())) == []


def test_a_config_map_of_the_device_plugin_is_read_like_the_chart() -> None:
    sharing = {"mps": GPUS, "timeSlicing": GPUS}

    def config_map(text: str) -> dict[str, Any]:
        data = {"mine": text, "notes": "sharing mps: [", "count": "1"}
        return {"kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}

    assert gpu_pods.told(
        RULE, config_map(yaml.safe_dump({"version": "v1", "sharing": sharing}))
    ) == [f"ConfigMap 'c' must {BOTH}, in its device plugin configuration 'mine'."]
    del sharing["timeSlicing"]
    assert (
        gpu_pods.told(RULE, config_map(yaml.safe_dump({"version": "v1", "sharing": sharing}))) == []
    )
