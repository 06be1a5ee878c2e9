"""How a pool hands out its GPUs, and the node labels by which NVIDIA's operator knows it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from settings.names import PREFIX

Mode = Literal["whole", "mig", "time-slicing", "mps"]


@dataclass(frozen=True, kw_only=True)
class GpuSharing:
    """The mode; with mig the instances of each GPU by profile, with the last two its replicas."""

    mode: Mode = "whole"
    mig_layout: Mapping[str, int] | None = None
    replicas: int | None = None

    @property
    def config(self) -> str:
        """The name of the device plugin's configuration; pools that share alike have one."""
        return self.mode if self.replicas is None else f"{self.mode}-{self.replicas}"


def mig_config(pool: str) -> str:
    """The name of a pool's layout for the MIG manager."""
    return f"pool-{pool}"


def sharing_labels(pool: str, sharing: GpuSharing) -> dict[str, str]:
    """What a node of a GPU pool registers with besides the labels of its pool."""
    found = {
        f"{PREFIX}/sharing": sharing.mode,
        "nvidia.com/device-plugin.config": sharing.config,
    }
    if sharing.mode == "mig":
        found["nvidia.com/mig.config"] = mig_config(pool)
    return found
