"""What NVIDIA's device plugin makes of a node's GPUs: instances of MIG, or shares of each GPU.

It reads what the program told the GPU Operator, from the recorded release. Names as in
k8s-device-plugin v0.20.0 (internal/rm/rm.go), which the chart brings. Labels are those of its GPU
Feature Discovery (internal/lm: resource.go, mig-strategy.go, nvml.go) that follow from catalogue
and configuration; NOT_LABELLED names the others.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import yaml

from hardware.catalogue import Hardware
from ignition.boot.node import BootedNode
from rehearsal.providers import cloud
from settings.names import EFA_RESOURCE, GPU, RDMA_RESOURCE, RELEASE

MIG = "nvidia.com/mig-"
NOT_LABELLED = (
    "labels of GPU Feature Discovery that the driver or the BIOS alone knows (gpu.memory, "
    "gpu.family, gpu.compute, gpu.machine, gpu.mode, cuda, mig.capable of whole GPUs, sizes of MIG "
    "instances): a pod that selects one waits here"
)
_STRATEGIES = {"timeSlicing": "time-slicing", "mps": "mps"}
_LAYOUT, _CONFIG = "nvidia.com/mig.config", "nvidia.com/device-plugin.config"


@dataclass(frozen=True, kw_only=True)
class Device:
    """A device by the id that kubelet knows it by; no NUMA node where its plugin states none."""

    id: str
    numa_node: int | None


@dataclass(frozen=True, kw_only=True)
class OfferedDevices:
    """The devices of a resource; `at_most_one` where the plugin refuses to give a container two."""

    resource: str
    devices: tuple[Device, ...]
    at_most_one: bool = False


@dataclass(frozen=True, kw_only=True)
class Shares:
    """How many pods share a GPU, and how: `none`, `time-slicing` or `mps`."""

    replicas: int = 1
    strategy: str = "none"
    at_most_one: bool = False

    @property
    def are_several(self) -> bool:
        """Whether a GPU is more than one pod's."""
        return self.replicas > 1


@dataclass(frozen=True, kw_only=True)
class DevicePlugin:
    """The values of the GPU Operator's chart; empty where it is not installed."""

    values: Mapping[str, Any]

    @classmethod
    def read(cls, directory: Path) -> Self:
        """Return what the operator of the rehearsal in `directory` was told."""
        releases = (thing for thing in cloud.read(directory) if thing.type == RELEASE)
        told = (thing.inputs for thing in releases if thing.inputs.get("chart") == "gpu-operator")
        values = next(told, {}).get("values")
        return cls(values=values if isinstance(values, dict) else {})

    def advertise(self, booted: BootedNode, hardware: Hardware) -> BootedNode:
        """Return the node with what a pod can ask for of its GPUs, and select them by."""
        offered = self.offered(booted.labels, hardware)
        amounts = {each.resource: len(each.devices) for each in offered}
        if GPU not in booted.capacity:
            return booted
        return replace(
            booted,
            capacity=_with(booted.capacity, amounts),
            allocatable=_with(booted.allocatable, amounts),
            labels={**booted.labels, **self._labels(booted.labels, hardware)},
        )

    def offered(self, labels: Mapping[str, str], hardware: Hardware) -> tuple[OfferedDevices, ...]:
        """Return what a node with these labels offers of its GPUs.

        A device states the NUMA node of its GPU (internal/rm/nvml_devices.go).
        """
        if not hardware.gpus:
            return ()
        if instances := self._instances(labels.get(_LAYOUT, "")):
            return tuple(
                OfferedDevices(resource=name, devices=_instances_of(hardware, name, count))
                for name, count in instances.items()
            )
        shares = self._shares(labels.get(_CONFIG, ""))
        devices = tuple(
            Device(id=f"{name}::{number}" if shares.are_several else name, numa_node=gpu.numa_node)
            for gpu in hardware.gpus
            for name in (f"GPU-{gpu.index}",)
            for number in range(shares.replicas)
        )
        return (OfferedDevices(resource=GPU, devices=devices, at_most_one=shares.at_most_one),)

    def _labels(self, labels: Mapping[str, str], hardware: Hardware) -> dict[str, str]:
        """Return what GPU Feature Discovery writes on a node with these labels.

        GPUs in instances are counted as GPUs, too, with no replica of any. `gpu.present` is the
        operator's own (controllers/state_manager.go).
        """
        if not self.values or not hardware.gpus:
            return {}
        model = _sanitised(hardware.gpus[0].model)
        instances = self._instances(labels.get(_LAYOUT, ""))
        shares = self._shares(labels.get(_CONFIG, ""))
        if instances:
            shares = Shares(replicas=0)
        product = f"{model}-SHARED" if shares.are_several else model
        found = _of_resource(GPU, product, len(hardware.gpus), shares)
        for name, count in instances.items():
            of_all = count * len(hardware.gpus)
            found |= _of_resource(name, f"{model}-MIG-{name.removeprefix(MIG)}", of_all, Shares())
        if instances:
            found["nvidia.com/mig.capable"] = "true"
        if strategy := self.values.get("mig", {}).get("strategy"):
            found["nvidia.com/mig.strategy"] = strategy
        capable = str(shares.strategy == "mps").lower()
        return {**found, "nvidia.com/mps.capable": capable, "nvidia.com/gpu.present": "true"}

    def _instances(self, layout: str) -> dict[str, int]:
        """Return the instances of each GPU by resource, of the layout that a node's label names."""
        entries = self._config("migManager", "config.yaml").get("mig-configs", {}).get(layout, ())
        return {
            MIG + profile.replace("+", "."): count
            for entry in entries
            for profile, count in entry.get("mig-devices", {}).items()
        }

    def _shares(self, config: str) -> Shares:
        """Return the shares of each GPU in the configuration that a node's label names.

        A container may have only one with MPS, unless told otherwise (api/config/v1/config.go).
        """
        sharing = self._config("devicePlugin", config).get("sharing", {})
        for way, told in sharing.items():
            for each in told["resources"]:
                alone = told.get("failRequestsGreaterThanOne", way == "mps")
                several = each["replicas"] > 1
                return Shares(
                    replicas=each["replicas"],
                    strategy=_STRATEGIES[way] if several else "none",
                    at_most_one=alone and several,
                )
        return Shares()

    def _config(self, part: str, file: str) -> dict[str, Any]:
        """Return a file of the ConfigMap that a part of the operator reads."""
        data = self.values.get(part, {}).get("config", {}).get("data", {})
        return yaml.safe_load(data.get(file, "")) or {}


def of_plugins(named: Mapping[str, str]) -> dict[str, str]:
    """Return those of a node's resources or labels that come from device plugins."""
    of_gpus = (GPU, "nvidia.com/mig", "nvidia.com/mps.capable")
    others = (RDMA_RESOURCE, EFA_RESOURCE)
    return {
        name: text for name, text in named.items() if name.startswith(of_gpus) or name in others
    }


def _instances_of(hardware: Hardware, name: str, count: int) -> tuple[Device, ...]:
    profile = name.removeprefix(MIG)
    return tuple(
        Device(id=f"MIG-{gpu.index}-{profile}-{number}", numa_node=gpu.numa_node)
        for gpu in hardware.gpus
        for number in range(count)
    )


def _with(resources: Mapping[str, str], amounts: Mapping[str, int]) -> dict[str, str]:
    rest = {name: text for name, text in resources.items() if name != GPU}
    return {**rest, **{name: str(amount) for name, amount in amounts.items()}}


def _of_resource(name: str, product: str, count: int, shares: Shares) -> dict[str, str]:
    """Return the labels of a resource; `count` is without its shares."""
    return {
        f"{name}.product": product,
        f"{name}.count": str(count),
        f"{name}.replicas": str(shares.replicas),
        f"{name}.sharing-strategy": shares.strategy,
    }


def _sanitised(model: str) -> str:
    """Return the name of a GPU as a label has it."""
    return "-".join(re.sub(r"[^A-Za-z0-9\-_. ]", "", model).split())
