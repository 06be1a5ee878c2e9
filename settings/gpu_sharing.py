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
