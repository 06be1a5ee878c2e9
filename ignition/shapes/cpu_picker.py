"""Picks the CPUs that the static CPU manager takes when it packs them into few NUMA nodes.

After pkg/kubelet/cm/cpumanager/cpu_assignment.go of Kubernetes 1.36, whose quirks are kept: a pod
stands or falls with them.
"""

from collections.abc import Iterable, Mapping

from ignition.shapes.node import EmptyNode


class TakeError(ValueError):
    """The CPUs cannot be taken; kubelet calls it an UnexpectedAdmissionError."""


def groups(cpus: Iterable[int], of: Mapping[int, int]) -> dict[int, frozenset[int]]:
    """The CPUs by NUMA node, socket or core."""
    found: dict[int, set[int]] = {}
    for cpu in cpus:
        found.setdefault(of[cpu], set()).add(cpu)
    return {key: frozenset(members) for key, members in found.items()}


class Accumulator:
    """CPUs taken from the free ones; `needed` is how many are still wanted."""

    def __init__(self, node: EmptyNode, free: frozenset[int], wanted: int) -> None:
        """Refuses with TakeError when there are too few free CPUs."""
        self.node = node
        self.free = free
        self.needed = wanted
        self.taken: frozenset[int] = frozenset()
        if wanted > len(free):
            raise TakeError(
                f"not enough cpus available to satisfy request: requested={wanted}, "
                f"available={len(free)}"
            )

    def take(self, cpus: frozenset[int]) -> None:
        """Takes all of these CPUs."""
        self.taken |= cpus
        self.free -= self.taken
        self.needed -= len(cpus)

    def take_whole(self, wholes: Iterable[frozenset[int]]) -> None:
        """Takes each that is not more than what is needed."""
        for whole in wholes:
            if self.needed >= len(whole):
                self.take(whole)

    @property
    def numa_first(self) -> bool:
        """True where NUMA nodes hold sockets, False where sockets hold NUMA nodes."""
        return self.node.sockets >= len(self.node.cpus_of)

    def numa_nodes(self) -> list[int]:
        """The NUMA nodes with free CPUs, in the order in which they are taken from."""
        outer, inner = self._levels()
        return outer if self.numa_first else inner

    def sockets(self) -> list[int]:
        """The sockets with free CPUs, in the order in which they are taken from."""
        outer, inner = self._levels()
        return inner if self.numa_first else outer

    def cores(self) -> list[int]:
        """The cores with free CPUs, in the order in which they are taken from."""
        _, inner = self._levels()
        inside = self._free_in(self._of_levels()[1])
        free = self._free_in(self.node.core_of)
        return [
            core
            for level in inner
            for core in _fewest_first(groups(inside[level], self.node.core_of), free)
        ]

    def free_in_numa_nodes(self) -> dict[int, frozenset[int]]:
        """The free CPUs of each NUMA node that has any."""
        return self._free_in(self.node.numa_of)

    def whole_numa_nodes(self) -> list[frozenset[int]]:
        """NUMA nodes without a CPU in use."""
        free, every = self.free_in_numa_nodes(), self.node.cpus_of
        return [every[numa] for numa in self.numa_nodes() if len(free[numa]) == len(every[numa])]

    def whole_sockets(self) -> list[frozenset[int]]:
        """Sockets without a CPU in use, if all sockets are of one size."""
        free, every = (
            self._free_in(self.node.socket_of),
            groups(self.node.numa_of, self.node.socket_of),
        )
        size = len(self.node.numa_of) // self.node.sockets
        return [every[socket] for socket in self.sockets() if len(free[socket]) == size]

    def whole_cores(self) -> list[frozenset[int]]:
        """Cores without a CPU in use, if all cores have the same number of threads."""
        free, every = self._free_in(self.node.core_of), self.node.cores
        size = self.node.cpus_per_core
        return [every[core] for core in self.cores() if len(free[core]) == size]

    def _free_in(self, of: Mapping[int, int]) -> dict[int, frozenset[int]]:
        return groups(self.free, of)

    def _of_levels(self) -> tuple[Mapping[int, int], Mapping[int, int]]:
        numa, socket = self.node.numa_of, self.node.socket_of
        return (numa, socket) if self.numa_first else (socket, numa)

    def _levels(self) -> tuple[list[int], list[int]]:
        outer_of, inner_of = self._of_levels()
        free_outer, free_inner = self._free_in(outer_of), self._free_in(inner_of)
        outer = _fewest_first(free_outer, free_outer)
        inner = [
            level
            for one in outer
            for level in _fewest_first(groups(free_outer[one], inner_of), free_inner)
        ]
        return outer, inner


def _fewest_first(keys: Iterable[int], free: Mapping[int, frozenset[int]]) -> list[int]:
    return sorted(keys, key=lambda key: (len(free[key]), key))


def packed(node: EmptyNode, free: frozenset[int], wanted: int) -> frozenset[int]:
    """Take whole NUMA nodes and sockets, then whole cores, then single CPUs; TakeError if short."""
    if wanted < 1:
        return frozenset()
    left = Accumulator(node, free, wanted)
    wholes = [left.whole_numa_nodes, left.whole_sockets]
    for whole in wholes if left.numa_first else reversed(wholes):
        left.take_whole(whole())
    left.take_whole(left.whole_cores())
    singles = [cpu for core in left.cores() for cpu in sorted(left.free & node.cores[core])]
    for cpu in singles[: max(left.needed, 0)]:
        left.take(frozenset({cpu}))
    if left.needed > 0:
        raise TakeError("failed to allocate cpus")
    return left.taken
