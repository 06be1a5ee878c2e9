"""An empty node as its kubelet sees it, and the request of a container.

Memory is counted in MiB and as the catalogue gives it: the kernel keeps a few percent of it for
itself, so the last percents of a machine's memory can never be asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

Policy = Literal["none", "best-effort", "restricted", "single-numa-node"]
Scope = Literal["container", "pod"]
ContainerKind = Literal["app", "init", "sidecar"]
POLICIES: tuple[Policy, ...] = get_args(Policy)
SCOPES: tuple[Scope, ...] = get_args(Scope)

FULL_CORES = "full-pcpus-only"
DISTRIBUTE = "distribute-cpus-across-numa"
DEFAULT_MAX_NODES = 8

MIB_PER_GIB = 1024


class ShapeError(ValueError):
    """A kubelet setting that is not understood, or a request that is none; one sentence."""


@dataclass(frozen=True, kw_only=True)
class ContainerRequest:
    """The requests of one container, which are its limits, too.

    A whole number of `cpus` gets CPUs of its own, a fraction shares. Without CPUs or without memory
    the pod is not Guaranteed: then nothing but GPUs is aligned. Huge pages are counted in pages.
    """

    gpus: int = 0
    cpus: float = 0
    memory_mib: int = 0
    hugepages_1gi: int = 0
    hugepages_2mi: int = 0
    kind: ContainerKind = "app"

    def __post_init__(self) -> None:
        for name in ("gpus", "cpus", "memory_mib", "hugepages_1gi", "hugepages_2mi"):
            if getattr(self, name) < 0:
                raise ShapeError(f"{name}: {getattr(self, name)} is negative; allowed is 0 or more")

    @property
    def exclusive_cpus(self) -> int:
        """The CPUs that it would have to itself in a Guaranteed pod."""
        return int(self.cpus) if self.cpus == int(self.cpus) else 0

    @property
    def memory(self) -> dict[str, int]:
        """Its memory and huge pages in MiB by resource, without those of which it wants none."""
        asked = {
            "memory": self.memory_mib,
            "hugepages-1Gi": self.hugepages_1gi * MIB_PER_GIB,
            "hugepages-2Mi": self.hugepages_2mi * 2,
        }
        return {resource: mib for resource, mib in asked.items() if mib}


@dataclass(frozen=True, kw_only=True)
class NumaCell:
    """A NUMA node: `cores` in order, `core_sockets` says which socket each is on."""

    id: int
    cores: tuple[frozenset[int], ...]
    core_sockets: tuple[int, ...]
    memory_mib: int
    reserved_memory_mib: int
    hugepages_1gi: int
    hugepages_2mi: int
    gpus: tuple[int, ...]
    distances: tuple[int, ...]

    @property
    def allocatable(self) -> dict[str, int]:
        """Memory for pods in MiB by resource."""
        gib, small = self.hugepages_1gi * MIB_PER_GIB, self.hugepages_2mi * 2
        return {
            "memory": self.memory_mib - self.reserved_memory_mib - gib - small,
            "hugepages-1Gi": gib,
            "hugepages-2Mi": small,
        }


@dataclass(frozen=True, kw_only=True)
class EmptyNode:
    """The NUMA nodes of a machine and the part of its kubelet's settings that admits pods.

    `most_memory_mib` is the most memory of a pod for which Karpenter would rent the machine; None
    for machines that are there.
    """

    cells: tuple[NumaCell, ...]
    sockets: int
    reserved_cpus: frozenset[int]
    cpu_options: frozenset[str]
    memory_manager: bool
    policy: Policy
    scope: Scope
    prefer_closest: bool = False
    max_numa_nodes: int = DEFAULT_MAX_NODES
    most_memory_mib: int | None = None

    @cached_property
    def cpus_of(self) -> Mapping[int, frozenset[int]]:
        """The CPUs of each NUMA node, for the nodes that have any."""
        joined = {cell.id: frozenset[int]().union(*cell.cores) for cell in self.cells}
        return {node: cpus for node, cpus in joined.items() if cpus}

    @cached_property
    def free_cpus_of(self) -> Mapping[int, frozenset[int]]:
        """The CPUs of each NUMA node that pods may have."""
        return {node: cpus - self.reserved_cpus for node, cpus in self.cpus_of.items()}

    @property
    def gpu_count(self) -> int:
        """GPUs of the machine."""
        return sum(len(cell.gpus) for cell in self.cells)

    @cached_property
    def allocatable(self) -> dict[str, float]:
        """The CPUs, GPUs and MiB by kind of memory that the node offers to the scheduler."""
        offered: dict[str, float] = {
            "cpu": sum(len(cpus) for cpus in self.cpus_of.values()) - len(self.reserved_cpus),
            "nvidia.com/gpu": self.gpu_count,
        }
        for resource in ("memory", "hugepages-1Gi", "hugepages-2Mi"):
            offered[resource] = sum(cell.allocatable[resource] for cell in self.cells)
        if self.most_memory_mib is not None:
            offered["memory"] = min(offered["memory"], self.most_memory_mib)
        return offered

    @cached_property
    def numa_of(self) -> Mapping[int, int]:
        """The NUMA node of each CPU."""
        return {cpu: numa for numa, cpus in self.cpus_of.items() for cpu in cpus}

    @cached_property
    def cores(self) -> Mapping[int, frozenset[int]]:
        """The CPUs of each core; a core has the number of its first CPU."""
        return {min(core): core for cell in self.cells for core in cell.cores}

    @cached_property
    def core_of(self) -> Mapping[int, int]:
        """The core of each CPU."""
        return {cpu: core for core, cpus in self.cores.items() for cpu in cpus}

    @cached_property
    def socket_of(self) -> Mapping[int, int]:
        """The socket of each CPU."""
        return {
            cpu: socket
            for cell in self.cells
            for core, socket in zip(cell.cores, cell.core_sockets, strict=True)
            for cpu in core
        }

    @cached_property
    def cpus_per_core(self) -> int:
        """CPUs per core as kubelet counts: rounded down where cores differ in threads."""
        return len(self.numa_of) // len(self.cores)

    @property
    def core_group(self) -> int:
        """The number of CPUs that are only given together."""
        return self.cpus_per_core if FULL_CORES in self.cpu_options else 1
