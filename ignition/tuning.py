"""What a pool may choose about its machines; everything else is derived from their wiring."""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

Purpose = Literal["training", "inference", "batch"]
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """The choices of a pool. Whether a machine can carry them is for `numa_plan.plan` to say."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    housekeeping_cores_per_numa_node: int = 2
    """Whole cores of each NUMA node kept for the system, its interrupts and the kubelet."""
    isolation: Literal["shared", "exclusive"] = "shared"
    """`exclusive` takes workload CPUs out of the scheduler's load balancing: only for nodes that
    run nothing but Guaranteed pods with whole CPUs."""
    hugepages_1gi_per_numa_node: int = 0
    """1 GiB pages reserved at boot on each NUMA node."""
    hugepages_2mi_per_numa_node: int = 0
    """2 MiB pages reserved at boot on each NUMA node."""
