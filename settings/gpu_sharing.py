"""The GPU sharing of a pool, and the node labels that configure NVIDIA's operator."""

from collections.abc import Mapping
from dataclasses import dataclass

from settings.forms import Sharing
from settings.names import PREFIX


@dataclass(frozen=True, kw_only=True)
class GpuSharing:
    """The sharing mode of a pool.

    With mig, `mig_layout` has the number of instances of each GPU by profile; with time-slicing and
    mps, `replicas` is the number of clients of each GPU.
    """

    mode: Sharing = "whole"
    mig_layout: Mapping[str, int] | None = None
    replicas: int | None = None

    @property
    def config(self) -> str:
        """The name of the device plugin's configuration, one for all pools with this sharing."""
        return self.mode if self.replicas is None else f"{self.mode}-{self.replicas}"


@dataclass(frozen=True, kw_only=True)
class Suitable:
    """What a choice of the stack file suits, why, and where it is said."""

    suits: str
    because: str
    source: str


_OPERATOR = "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-sharing.html"
SUITABLE: Mapping[Sharing, Suitable] = {
    "whole": Suitable(
        suits="training, gangs, and inference that fills a GPU; the only mode on rented machines",
        because="NVLink, CUDA IPC and RDMA reach whole GPUs alone, and Karpenter counts the GPUs "
        "that EC2 lists",
        source="https://docs.nvidia.com/datacenter/tesla/mig-user-guide/",
    ),
    "mig": Suitable(
        suits="inference and notebooks of several teams, each with memory of its own",
        because="the hardware keeps memory and faults of an instance apart; there are at most "
        "seven on a GPU, of fixed sizes, without NVLink between them",
        source="https://docs.nvidia.com/datacenter/tesla/mig-user-guide/",
    ),
    "time-slicing": Suitable(
        suits="notebooks and tests of one team that leave a GPU idle most of the time",
        because="clients take turns, and neither their memory nor their faults are kept apart: "
        "one that fills the memory ends the others",
        source=f"{_OPERATOR}#comparison-time-slicing-and-multi-instance-gpu",
    ),
    "mps": Suitable(
        suits="many small processes of one team at the same time, such as small models",
        because="clients run side by side, each with an equal part of memory and compute, but one "
        "MPS server serves them all; it works on whole GPUs, not on MIG instances",
        source="https://github.com/NVIDIA/k8s-device-plugin/blob/v0.20.0/README.md#with-cuda-mps",
    ),
}
"""What each mode of sharing is for."""


def mig_config(pool: str) -> str:
    """Return the name of a pool's layout in the MIG manager's configuration."""
    return f"pool-{pool}"


def sharing_labels(pool: str, sharing: GpuSharing) -> dict[str, str]:
    """Return the labels that a node of a GPU pool registers with besides those of its pool."""
    found = {
        f"{PREFIX}/sharing": sharing.mode,
        "nvidia.com/device-plugin.config": sharing.config,
    }
    if sharing.mode == "mig":
        found["nvidia.com/mig.config"] = mig_config(pool)
    return found
