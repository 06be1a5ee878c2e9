"""The static CPU manager: which NUMA nodes have enough CPUs, and which CPUs a container gets.

After pkg/kubelet/cm/cpumanager/policy_static.go of Kubernetes 1.36; see
https://kubernetes.io/docs/tasks/administer-cluster/cpu-management-policies/.
"""

from collections import Counter
from collections.abc import Sequence

from ignition.shapes.cpu_distribution import distributed
from ignition.shapes.cpu_picker import TakeError, packed
from ignition.shapes.node import DISTRIBUTE, FULL_CORES, ContainerRequest, EmptyNode
from ignition.shapes.pod_request import ContainerRefusedError, pod_total, preferred_masks
from ignition.shapes.topology_manager import ANY, NEVER, Hint, Hints, bits, totals


class CpuManager:
    """CPUs of Guaranteed containers that ask for whole ones."""

    def __init__(self, node: EmptyNode) -> None:
        """All CPUs but the reserved ones are free."""
        self._node = node
        self._free = frozenset(node.numa_of) - node.reserved_cpus
        reserved_cores = {node.core_of[cpu] for cpu in node.reserved_cpus}
        self._beside_reserved = frozenset[int]().union(
            *(node.cores[core] for core in reserved_cores)
        )
        self._reusable: frozenset[int] = frozenset()
        self.assigned: dict[int, frozenset[int]] = {}

    def hints(self, request: ContainerRequest) -> Sequence[Hints]:
        """Hints for one container."""
        return [self._hints(request.exclusive_cpus, self._reusable)]

    def pod_hints(self, pod: Sequence[ContainerRequest]) -> Sequence[Hints]:
        """Hints for the pod as a whole."""
        wanted = pod_total(pod, [request.exclusive_cpus for request in pod])
        return [self._hints(int(wanted), frozenset())]

    def _hints(self, wanted: int, reusable: frozenset[int]) -> Hints:
        if wanted == 0:
            return ANY
        every = {numa: len(cpus) for numa, cpus in self._node.cpus_of.items()}
        kept = Counter(self._node.numa_of[cpu] for cpu in reusable)
        free = {
            numa: len(cpus & self._free) + kept[numa] for numa, cpus in self._node.cpus_of.items()
        }
        must = sum(1 << numa for numa in kept)
        enough = {
            mask: mask.bit_count() for mask, count in totals(every).items() if count >= wanted
        }
        usable = [
            mask for mask, count in totals(free).items() if count >= wanted and must & ~mask == 0
        ]
        return preferred_masks(enough, usable, len(every)) or NEVER

    def allocate(self, index: int, request: ContainerRequest, hint: Hint) -> None:
        """Take the container's CPUs, from the NUMA nodes of the hint first."""
        wanted = request.exclusive_cpus
        if wanted == 0:
            return
        if FULL_CORES in self._node.cpu_options:
            self._refuse_half_cores(wanted)
        allocatable = self._free | self._reusable
        taken: frozenset[int] = frozenset()
        if hint.mask is not None:
            near = frozenset[int]().union(*(self._node.cpus_of.get(n, ()) for n in bits(hint.mask)))
            aligned = allocatable & near
            taken = self._take(aligned, min(wanted, len(aligned)))
        taken |= self._take(allocatable - taken, wanted - len(taken))
        self._free -= taken
        self.assigned[index] = taken
        if request.kind == "init":
            self._reusable |= taken
        else:
            self._reusable -= taken

    def _refuse_half_cores(self, wanted: int) -> None:
        threads = self._node.cpus_per_core
        if wanted % threads:
            raise ContainerRefusedError(
                "SMTAlignmentError",
                f"SMT Alignment Error: requested {wanted} cpus not multiple cpus per core = "
                f"{threads}",
            )
        # what init containers leave is not counted here, though it could be had again
        available = len(self._free - self._beside_reserved)
        if wanted > available:
            raise ContainerRefusedError(
                "SMTAlignmentError",
                "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = "
                f"{available}, requested CPUs = {wanted}, CPUs per core = {threads}",
            )

    def _take(self, free: frozenset[int], wanted: int) -> frozenset[int]:
        try:
            if DISTRIBUTE not in self._node.cpu_options:
                return packed(self._node, free, wanted)
            return distributed(self._node, free, wanted, self._node.core_group)
        except TakeError as error:
            raise ContainerRefusedError("UnexpectedAdmissionError", str(error)) from error
