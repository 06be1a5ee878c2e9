"""What NVIDIA's device plugin makes of a node's GPUs: instances of MIG, or shares of each GPU.

It reads what the program told the GPU Operator, from the recorded release. Names as in
k8s-device-plugin v0.20.0 (internal/rm/rm.go, internal/lm/resource.go), which the chart brings;
labels that only the driver knows, such as the memory of an instance in MiB, are left out.
"""

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
        """Return the node with what a pod can ask for in place of whole GPUs."""
        offered = self.offered(booted.labels, hardware)
        amounts = {each.resource: len(each.devices) for each in offered}
        if GPU not in booted.capacity or booted.capacity[GPU] == str(amounts.get(GPU)):
            return booted
        return replace(
            booted,
            capacity=_with(booted.capacity, amounts),
            allocatable=_with(booted.allocatable, amounts),
            labels={**booted.labels, **({} if GPU in amounts else _labels(amounts, hardware))},
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
        replicas, at_most_one = self._replicas(labels.get(_CONFIG, ""))
        devices = tuple(
            Device(id=name if replicas == 1 else f"{name}::{number}", numa_node=gpu.numa_node)
            for gpu in hardware.gpus
            for name in (f"GPU-{gpu.index}",)
            for number in range(replicas)
        )
        return (OfferedDevices(resource=GPU, devices=devices, at_most_one=at_most_one),)

    def _instances(self, layout: str) -> dict[str, int]:
        """Return the instances of each GPU by resource, of the layout that a node's label names."""
        entries = self._config("migManager", "config.yaml").get("mig-configs", {}).get(layout, ())
        return {
            MIG + profile.replace("+", "."): count
            for entry in entries
            for profile, count in entry.get("mig-devices", {}).items()
        }

    def _replicas(self, config: str) -> tuple[int, bool]:
        """Return the shares of each GPU in the configuration that a node's label names.

        And whether a container may have only one: with MPS unless told otherwise
        (api/config/v1/config.go).
        """
        sharing = self._config("devicePlugin", config).get("sharing", {})
        for way, told in sharing.items():
            for each in told["resources"]:
                alone = told.get("failRequestsGreaterThanOne", way == "mps")
                return each["replicas"], alone and each["replicas"] > 1
        return 1, False

    def _config(self, part: str, file: str) -> dict[str, Any]:
        """Return a file of the ConfigMap that a part of the operator reads."""
        data = self.values.get(part, {}).get("config", {}).get("data", {})
        return yaml.safe_load(data.get(file, "")) or {}


def of_plugins(named: Mapping[str, str]) -> dict[str, str]:
    """Return those of a node's resources or labels that come from device plugins."""
    of_gpus = (GPU, "nvidia.com/mig")
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


def _labels(amounts: Mapping[str, int], hardware: Hardware) -> dict[str, str]:
    model = hardware.gpus[0].model.replace(" ", "-")
    found = {"nvidia.com/mig.capable": "true", "nvidia.com/mig.strategy": "mixed"}
    for name, amount in amounts.items():
        found[f"{name}.product"] = f"{model}-MIG-{name.removeprefix(MIG)}"
        found[f"{name}.count"] = str(amount)
        found[f"{name}.replicas"] = "1"
        found[f"{name}.sharing-strategy"] = "none"
    return found
