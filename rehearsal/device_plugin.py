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
from settings.names import GPU, RELEASE

MIG = "nvidia.com/mig-"
_LAYOUT, _CONFIG = "nvidia.com/mig.config", "nvidia.com/device-plugin.config"


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
        instances = self._instances(booted.labels.get(_LAYOUT, ""))
        replicas = self._replicas(booted.labels.get(_CONFIG, ""))
        if GPU not in booted.capacity or (not instances and replicas == 1):
            return booted
        if instances:
            amounts = {name: count * hardware.gpu_count for name, count in instances.items()}
        else:
            amounts = {GPU: hardware.gpu_count * replicas}
        return replace(
            booted,
            capacity=_with(booted.capacity, amounts),
            allocatable=_with(booted.allocatable, amounts),
            labels={**booted.labels, **(_labels(amounts, hardware) if instances else {})},
        )

    def _instances(self, layout: str) -> dict[str, int]:
        """Return the instances of each GPU by resource, of the layout that a node's label names."""
        entries = self._config("migManager", "config.yaml").get("mig-configs", {}).get(layout, ())
        return {
            MIG + profile.replace("+", "."): count
            for entry in entries
            for profile, count in entry.get("mig-devices", {}).items()
        }

    def _replicas(self, config: str) -> int:
        """Return the shares of each GPU in the configuration that a node's label names."""
        ways = self._config("devicePlugin", config).get("sharing", {}).values()
        return next((each["replicas"] for way in ways for each in way["resources"]), 1)

    def _config(self, part: str, file: str) -> dict[str, Any]:
        """Return a file of the ConfigMap that a part of the operator reads."""
        data = self.values.get(part, {}).get("config", {}).get("data", {})
        return yaml.safe_load(data.get(file, "")) or {}


def of_gpus(named: Mapping[str, str]) -> dict[str, str]:
    """Return those of a node's resources or labels that change with the sharing of its GPUs."""
    return {name: text for name, text in named.items() if name.startswith((GPU, "nvidia.com/mig"))}


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
