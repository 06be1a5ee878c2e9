"""The GPU Operator on Flatcar: what it must leave alone, and how each pool's GPUs are shared."""

from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from pulumi_kubernetes.core.v1 import Namespace

from components.platform.gpu_operator import GpuOperator, GpuOperatorArgs
from hardware.catalogue import load, names
from hardware.mig import MIG_PROFILES, layout_fault
from settings.gpu_sharing import GpuSharing, sharing_labels
from settings.versions import GPU_OPERATOR
from tests.support.recorder import named, render

MIG = GpuSharing(mode="mig", mig_layout={"1g.18gb": 2, "2g.35gb": 1, "3g.71gb": 1})
SLICED = GpuSharing(mode="time-slicing", replicas=4)


def release(pools: Mapping[str, GpuSharing]) -> Mapping[str, Any]:
    def program() -> None:
        monitors = Namespace("monitors")  # stands for what brings their kind
        exporter = {"enabled": True}
        args = GpuOperatorArgs(pools=pools, dcgm_exporter=exporter, monitors=monitors)
        GpuOperator("gpu-operator", args)

    (found,) = named(render(program), "Release").values()
    return found.inputs


def values(**pools: GpuSharing) -> Mapping[str, Any]:
    found = release(pools)["values"]
    assert isinstance(found, dict)
    return found


def config_of(labels: Mapping[str, str], found: Mapping[str, Any]) -> Mapping[str, Any]:
    """The device plugin's configuration that a node with these labels gets."""
    data = found["devicePlugin"]["config"]["data"]
    loaded = yaml.safe_load(data[labels["nvidia.com/device-plugin.config"]])
    assert isinstance(loaded, dict)
    return loaded


def test_the_chart_is_pinned() -> None:
    found = release({})
    assert (found["chart"], found["version"]) == (GPU_OPERATOR.name, GPU_OPERATOR.version)
    assert found["repositoryOpts"] == {"repo": GPU_OPERATOR.repository}


def test_driver_and_runtime_are_the_operating_systems() -> None:
    found = values(dgx=GpuSharing())
    assert found["driver"]["enabled"] is False
    assert found["toolkit"]["enabled"] is False, "it would write to /usr, which is read-only"


def test_there_is_one_kind_of_operator_configuration() -> None:
    found = values(dgx=GpuSharing())
    assert found["clusterPolicy"]["deployCR"] is True
    assert found["gpuCluster"]["deployCR"] is False, "it wants driver 580, Flatcar has 570"


def test_feature_discovery_leaves_every_cpu_to_jobs() -> None:
    worker = values(dgx=GpuSharing())["node-feature-discovery"]["worker"]
    assert worker["resources"]["requests"] == {"cpu": 0}, "the chart's 5m are of every node"


@pytest.mark.parametrize("sharing", [GpuSharing(), MIG, SLICED, GpuSharing(mode="mps", replicas=2)])
def test_every_node_label_names_a_configuration_that_is_there(sharing: GpuSharing) -> None:
    labels = sharing_labels("desk", sharing)
    found = values(desk=sharing)
    assert labels["fleet.gpu/sharing"] == sharing.mode
    assert config_of(labels, found)["version"] == "v1"
    if "nvidia.com/mig.config" in labels:
        layouts = yaml.safe_load(found["migManager"]["config"]["data"]["config.yaml"])
        assert labels["nvidia.com/mig.config"] in layouts["mig-configs"]


def test_a_node_without_a_label_hands_out_whole_gpus() -> None:
    found = values(desk=SLICED)["devicePlugin"]["config"]
    default = yaml.safe_load(found["data"][found["default"]])
    assert "sharing" not in default


def test_time_slices_are_a_pools_own() -> None:
    found = values(desk=SLICED, dgx=GpuSharing())
    sliced = config_of(sharing_labels("desk", SLICED), found)["sharing"]["timeSlicing"]
    assert sliced["resources"] == [{"name": "nvidia.com/gpu", "replicas": 4}]
    assert sliced["failRequestsGreaterThanOne"] is True
    assert "sharing" not in config_of(sharing_labels("dgx", GpuSharing()), found)


def test_mps_and_time_slicing_are_never_in_one_configuration() -> None:
    found = values(desk=SLICED, notebooks=GpuSharing(mode="mps", replicas=8))
    for text in found["devicePlugin"]["config"]["data"].values():
        assert len(yaml.safe_load(text).get("sharing", {})) <= 1


def test_the_mig_manager_has_the_pools_layouts_and_the_one_that_undoes_them() -> None:
    found = values(desk=MIG, dgx=GpuSharing())["migManager"]
    layouts = yaml.safe_load(found["config"]["data"]["config.yaml"])["mig-configs"]
    assert set(layouts) == {"all-disabled", "pool-desk"}
    assert found["config"]["default"] == "all-disabled"
    (layout,) = layouts["pool-desk"]
    assert layout["mig-devices"] == {"1g.18gb": 2, "2g.35gb": 1, "3g.71gb": 1}
    assert layouts["all-disabled"] == [{"devices": "all", "mig-enabled": False}]


def test_without_mig_there_is_no_mig_manager() -> None:
    assert values(dgx=GpuSharing())["migManager"] == {"enabled": False}


def test_an_instance_is_never_taken_for_a_gpu() -> None:
    found = values(desk=MIG)
    assert found["mig"]["strategy"] == "mixed"
    for text in found["devicePlugin"]["config"]["data"].values():
        assert yaml.safe_load(text)["flags"]["migStrategy"] == "mixed"


def test_other_configuration_is_another_config_map() -> None:
    before, after = (
        values(desk=GpuSharing(mode="mps", replicas=n))["devicePlugin"]["config"]["name"]
        for n in (2, 4)
    )
    assert before != after, "nobody watches it: the plugin's pods must be replaced"


def test_every_model_with_profiles_is_in_the_catalogue() -> None:
    models = {gpu.model for name in names() for gpu in load(name).gpus}
    assert set(MIG_PROFILES) <= models


@pytest.mark.parametrize("model", MIG_PROFILES)
def test_as_many_instances_of_a_profile_as_the_driver_makes_fit(model: str) -> None:
    for name, profile in MIG_PROFILES[model].items():
        assert layout_fault(model, {name: profile.at_most}) is None
        assert layout_fault(model, {name: profile.at_most + 1}) is not None
