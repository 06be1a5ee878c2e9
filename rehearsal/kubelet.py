"""Describes a node's kubelet to the program `admitter`, which decides on its pods.

The description is an annotation of the Node: the machine as kubelet finds it, the configuration
that its Ignition gives kubelet, and the devices that its device plugins offer.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hardware.catalogue import Hardware
from ignition.boot import cpus
from ignition.boot.node import BootedNode
from rehearsal.control_plane import KUBELETS
from rehearsal.device_plugin import OfferedDevices

DESCRIBED = "rehearsal.fleet.gpu/kubelet"
ADMITTED = "rehearsal.fleet.gpu/admitted"
"""The mark of a pod that its node's kubelet admits; kwok runs no other (stages.yaml)."""
_NEAR, _FAR = 10, 21  # the distances that firmware states between NUMA nodes of two sockets


def description(booted: BootedNode, hardware: Hardware, offered: Sequence[OfferedDevices]) -> str:
    """Return the annotation of the Node."""
    header = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    found = {
        "configuration": {**booted.kubelet, **header},
        **machine(hardware, booted.hugepages),
        "plugins": [asdict(each) for each in offered],
    }
    return json.dumps(found, separators=(",", ":"), sort_keys=True)


def forget(directory: Path, node: str) -> None:
    """Delete the files of a node's kubelet in the twin of `directory`: its machine was wiped."""
    shutil.rmtree(directory / KUBELETS / node, ignore_errors=True)


def machine(hardware: Hardware, hugepages: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    """Return the machine as toolchain/kubelet/machine reads it, with its pages by NUMA node."""
    nodes = hardware.numa_nodes
    none = (0,) * len(nodes)
    huge, large = (hugepages.get(f"hugepages-{size}") or none for size in ("1Gi", "2Mi"))
    return {
        "sockets": hardware.sockets,
        "numa_nodes": [
            {
                "id": node.id,
                "cores": [sorted(core) for core in cpus.cores(node)],
                "core_sockets": [node.id * hardware.sockets // len(nodes)] * len(cpus.cores(node)),
                "memory_mib": node.memory_gib * 1024,
                "hugepages_1gi": huge[node.id],
                "hugepages_2mi": large[node.id],
                "distances": [_NEAR if node.id == other.id else _FAR for other in nodes],
            }
            for node in nodes
        ],
    }
