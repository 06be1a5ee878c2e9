"""What a simulated node advertises of its GPUs, by what the program tells the GPU Operator."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import cast

import pytest
from pulumi_kubernetes.core.v1 import Namespace

from components.platform.gpu_operator import GpuOperator, GpuOperatorArgs
from rehearsal.api import Api
from rehearsal.device_plugin import DevicePlugin
from rehearsal.nodes import ClusterNode, register
from rehearsal.providers.cloud import FILE, CloudObject
from rehearsal.providers.values import Value
from settings.gpu_sharing import GpuSharing, sharing_labels
from settings.names import RELEASE
from tests.support.recorder import named, render
from tests.support.rehearsal import fleets
from tests.support.rehearsal.fake_nodes import FakeApi

MIG = GpuSharing(mode="mig", mig_layout={"1g.18gb+me": 1, "3g.71gb": 1})
SLICED = GpuSharing(mode="time-slicing", replicas=4)
GPUS = ("nvidia.com/gpu", "nvidia.com/mig")


def told(folder: Path, **pools: GpuSharing) -> DevicePlugin:
    """The device plugin of a rehearsal whose program shares GPUs so."""

    def program() -> None:
        args = GpuOperatorArgs(pools=pools, dcgm_exporter={}, monitors=Namespace("monitors"))
        GpuOperator("gpu-operator", args)

    (release,) = named(render(program), "Release").values()
    record = CloudObject(
        provider="kubernetes",
        type=RELEASE,
        id="gpu-operator",
        name="gpu-operator",
        inputs=cast("dict[str, Value]", release.inputs),
        outputs={},
    )
    (folder / FILE).write_text(json.dumps([asdict(record)]))
    return DevicePlugin.read(folder)


def node(plugin: DevicePlugin, sharing: GpuSharing) -> ClusterNode:
    """A machine with eight GPUs whose kubelet registers the labels of the sharing."""
    found = fleets.node("dgx-1", hardware="dgx-h200", pool="dgx", site="fra")
    labels = {**found.booted.labels, **sharing_labels("dgx", sharing)}
    booted = plugin.advertise(replace(found.booted, labels=labels), found.hardware)
    return replace(found, booted=booted)


def of_whole(labels: Mapping[str, str]) -> tuple[str, ...]:
    """What is said of nvidia.com/gpu."""
    of = ("product", "count", "replicas", "sharing-strategy")
    return tuple(labels[f"nvidia.com/gpu.{each}"] for each in of)


def gpus(resources: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in resources.items() if name.startswith(GPUS)}


def test_a_node_of_a_pool_with_mig_advertises_instances_and_no_gpu(tmp_path: Path) -> None:
    booted = node(told(tmp_path, dgx=MIG), MIG).booted
    instances = {"nvidia.com/mig-1g.18gb.me": "8", "nvidia.com/mig-3g.71gb": "8"}
    assert gpus(booted.capacity) == gpus(booted.allocatable) == instances
    assert booted.capacity["cpu"] == "224"
    assert booted.labels["nvidia.com/mig-3g.71gb.product"] == "NVIDIA-H200-MIG-3g.71gb"
    assert booted.labels["nvidia.com/mig-3g.71gb.count"] == "8"
    assert booted.labels["nvidia.com/mig-3g.71gb.replicas"] == "1"
    assert booted.labels["nvidia.com/mig.strategy"] == "mixed"
    assert of_whole(booted.labels) == ("NVIDIA-H200", "8", "0", "none")


@pytest.mark.parametrize(
    ("sharing", "labels"),
    [
        (GpuSharing(), ("NVIDIA-H200", "8", "1", "none")),
        (SLICED, ("NVIDIA-H200-SHARED", "8", "4", "time-slicing")),
        (GpuSharing(mode="mps", replicas=2), ("NVIDIA-H200-SHARED", "8", "2", "mps")),
    ],
    ids=lambda value: value.mode if isinstance(value, GpuSharing) else "",
)
def test_a_pod_may_select_gpus_by_what_gpu_feature_discovery_says_of_them(
    tmp_path: Path, sharing: GpuSharing, labels: tuple[str, ...]
) -> None:
    found = node(told(tmp_path, dgx=sharing), sharing).booted.labels
    assert of_whole(found) == labels
    assert found["nvidia.com/mig.strategy"] == "mixed"
    assert found["nvidia.com/mps.capable"] == str(sharing.mode == "mps").lower()
    assert found["nvidia.com/gpu.present"] == "true"


def test_the_name_of_a_gpu_is_one_that_a_label_can_have() -> None:
    """As `sanitise` in internal/lm/resource.go does it."""
    values: dict[str, object] = {"devicePlugin": {}}
    plugin = DevicePlugin(values=values)
    machine = fleets.node("g-1", hardware="gex44", pool="g", site="hel1")
    gpu = replace(machine.hardware.gpus[0], model="NVIDIA  RTX(TM) 4000/SFF Ada")
    booted = plugin.advertise(machine.booted, replace(machine.hardware, gpus=(gpu,)))
    assert booted.labels["nvidia.com/gpu.product"] == "NVIDIA-RTXTM-4000SFF-Ada"


def test_nobody_labels_nodes_where_the_operator_is_not_installed() -> None:
    found = node(DevicePlugin(values={}), GpuSharing()).booted.labels
    assert not any(name.startswith("nvidia.com/gpu.") for name in found)


def test_time_slices_multiply_the_gpus(tmp_path: Path) -> None:
    booted = node(told(tmp_path, dgx=SLICED), SLICED).booted
    assert gpus(booted.allocatable) == {"nvidia.com/gpu": "32"}


@pytest.mark.parametrize("sharing", [GpuSharing(), MIG])
def test_whole_gpus_are_advertised_where_the_operator_was_told_of_nothing_else(
    tmp_path: Path, sharing: GpuSharing
) -> None:
    booted = node(told(tmp_path, other=SLICED), sharing).booted
    assert gpus(booted.allocatable) == {"nvidia.com/gpu": "8"}


@pytest.mark.parametrize(("first", "then"), [(GpuSharing(), MIG), (MIG, GpuSharing())])
def test_a_node_that_is_there_takes_what_the_operator_is_told_later(
    tmp_path: Path, first: GpuSharing, then: GpuSharing
) -> None:
    api, plugin = FakeApi(), told(tmp_path, dgx=MIG)
    register(cast("Api", api), [node(plugin, first)])
    register(cast("Api", api), [node(plugin, then)])
    wanted = node(plugin, then).booted
    assert api.node["status"]["capacity"] == dict(wanted.capacity)
    assert api.node["status"]["allocatable"] == dict(wanted.allocatable)
    assert gpus(api.node["metadata"]["labels"]) == gpus(wanted.labels)
