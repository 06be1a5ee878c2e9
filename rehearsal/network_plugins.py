"""What the device plugins for RDMA and EFA make of a node's network cards.

k8s-rdma-shared-dev-plugin v1.5.3 (pkg/resources/server.go) offers `rdmaHcaMax` devices, however
many cards there are. Neither plugin states a NUMA node here: docs/decisions/0018 has the sources.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from hardware.catalogue import Hardware
from ignition.boot.node import BootedNode
from rehearsal.api import Api
from rehearsal.device_plugin import Device, OfferedDevices
from rehearsal.providers import cloud
from settings.names import (
    EFA_RESOURCE,
    POOL_LABEL,
    RDMA_LABEL,
    RDMA_NAMESPACE,
    RDMA_RESOURCE,
    RELEASE,
)
from settings.versions import EFA_DEVICE_PLUGIN

DAEMON_SETS = f"/apis/apps/v1/namespaces/{RDMA_NAMESPACE}/daemonsets"


@dataclass(frozen=True, kw_only=True)
class NetworkPlugins:
    """The plugins that the program has made so far."""

    rdma: Mapping[str, int]
    """How many pods may share the rails of a machine, by pool."""
    efa: bool

    @classmethod
    def read(cls, api: Api, directory: Path) -> Self:
        """Return what the DaemonSets say that are there, and whether EFA's chart is installed."""
        found = (_of_daemon_set(each) for each in api.items(DAEMON_SETS))
        releases = (thing.inputs for thing in cloud.read(directory) if thing.type == RELEASE)
        return cls(
            rdma={pool: pods for pool, pods in found if pods},
            efa=any(told.get("chart") == EFA_DEVICE_PLUGIN.name for told in releases),
        )

    def offered(self, labels: Mapping[str, str], hardware: Hardware) -> tuple[OfferedDevices, ...]:
        """Return what a node with these labels offers of its network cards."""
        found = []
        if pods := self.rdma.get(labels.get(POOL_LABEL, ""), 0):
            devices = tuple(Device(id=str(number), numa_node=None) for number in range(pods))
            found.append(OfferedDevices(resource=RDMA_RESOURCE, devices=devices))
        if self.efa and labels.get(RDMA_LABEL) == "efa":
            cards = range(hardware.efa_interfaces)
            devices = tuple(Device(id=f"efa_{number}", numa_node=None) for number in cards)
            found.append(OfferedDevices(resource=EFA_RESOURCE, devices=devices))
        return tuple(found)


def offering(booted: BootedNode, offered: Sequence[OfferedDevices]) -> BootedNode:
    """Return the node with these devices in its capacity."""
    amounts = {each.resource: str(len(each.devices)) for each in offered}
    return replace(
        booted,
        capacity={**booted.capacity, **amounts},
        allocatable={**booted.allocatable, **amounts},
    )


def _of_daemon_set(found: Mapping[str, Any]) -> tuple[str, int]:
    """Return the pool of a DaemonSet, and the pods that its configuration lets share the rails."""
    pod = found["spec"]["template"]["spec"]
    pool = found["metadata"].get("labels", {}).get(POOL_LABEL, "")
    variables = {
        variable["name"]: variable.get("value", "")
        for container in pod.get("initContainers") or ()
        for variable in container.get("env") or ()
    }
    return pool, int(variables.get("PODS", "0"))
