"""The network between the GPUs of a pool's machines, and the device by which pods reach it."""

from dataclasses import dataclass
from typing import Literal

from hardware.catalogue import Hardware
from settings.names import EFA_RESOURCE, RDMA_RESOURCE
from settings.pools import AwsPoolSettings, BareMetalPoolSettings, PoolSettings

FabricKind = Literal["infiniband", "roce", "efa"]

TCP_GB_PER_S, RDMA_GB_PER_S = 3, 489
"""Bus bandwidth of a large all-reduce between eight-GPU machines, measured on H100."""


@dataclass(frozen=True, kw_only=True)
class Fabric:
    """The network, and the extended resource of which each machine offers `per_machine`.

    A pod with one unit of an owned machine's resource may use all of its rails; of EFA one unit is
    one interface.
    """

    kind: FabricKind
    resource: str
    per_machine: int

    @property
    def on_host(self) -> bool:
        """Whether pods need their host's network for it, which the namespaces of queues refuse.

        RoCE finds its peer by the address of an interface of the card, which a pod's own network
        has not: its GIDs are empty there (k8s-rdma-shared-dev-plugin, issues 72 and 101).
        """
        return self.kind == "roce"


def fabric_of(pool: PoolSettings, hardware: Hardware, *, efa: bool) -> Fabric | None:
    """Return the fabric of a pool; None where traffic between its machines goes over TCP.

    `efa` says that the environment has the driver for the interfaces of AWS.
    """
    match pool:
        case AwsPoolSettings() if efa and hardware.efa_interfaces:
            return Fabric(kind="efa", resource=EFA_RESOURCE, per_machine=hardware.efa_interfaces)
        case BareMetalPoolSettings(fabric=kind) if kind is not None:
            return Fabric(kind=kind, resource=RDMA_RESOURCE, per_machine=hardware.gpu_count)
    return None


def nccl_environment(fabric: Fabric | None, hardware: Hardware) -> dict[str, str]:
    """Return the variables by which NCCL finds the fabric from a pod's own network.

    - `=` before the list makes the names exact, else mlx5_1 would mean mlx5_10 and mlx5_11 too; the
      other cards of the machine carry storage (NCCL user guide, NCCL_IB_HCA).
    - Rank 0 is found over the pod's own network, whose interface is eth0.
    - libfabric takes its buffers from huge pages of 2 MiB, and a rented node has none: Karpenter
      launches no machine for a pod that asks for them (its issue 3315). The plugin aws-ofi-nccl
      sets everything else for each instance type itself.
    """
    if fabric is None or fabric.on_host:
        return {}
    found = {"NCCL_SOCKET_IFNAME": "eth0"}
    if fabric.kind == "efa":
        return {**found, "FI_EFA_USE_HUGE_PAGE": "0"}
    return {**found, "NCCL_IB_HCA": f"={','.join(hardware.rails)}"}
