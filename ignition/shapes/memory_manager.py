"""The Static memory manager: which NUMA nodes the memory of a Guaranteed pod comes from.

After pkg/kubelet/cm/memorymanager/policy_static.go of Kubernetes 1.36; see
https://kubernetes.io/docs/tasks/administer-cluster/memory-manager/. A NUMA node serves either pods
of its own or a group of nodes, never both.
"""

from collections.abc import Mapping, Sequence

from ignition.shapes.node import ContainerRequest, EmptyNode
from ignition.shapes.pod_request import ContainerRefusedError, pod_total, preferred_masks
from ignition.shapes.topology_manager import ANY, Hint, Hints, bits, masks, totals


class MemoryManager:
    """Memory and huge pages in MiB, free and given away, by NUMA node."""

    def __init__(self, node: EmptyNode) -> None:
        """All memory but the reserved part is free."""
        self._nodes = tuple(cell.id for cell in node.cells)
        self._allocatable = {cell.id: cell.allocatable for cell in node.cells}
        self._free = {cell.id: dict(cell.allocatable) for cell in node.cells}
        self._group = dict.fromkeys(self._nodes, 0)  # the set that a node serves; 0 while unused
        self._reusable: dict[int, dict[str, int]] = {}
        self.assigned: dict[int, int] = {}

    def hints(self, request: ContainerRequest) -> Sequence[Hints]:
        """Hints for one container, one for each kind of memory."""
        return self._hints(request.memory)

    def pod_hints(self, pod: Sequence[ContainerRequest]) -> Sequence[Hints]:
        """Hints for the pod; kinds of memory that only init containers ask for are left out."""
        kinds = {kind for request in pod if request.kind == "app" for kind in request.memory}
        return self._hints(
            {
                kind: int(pod_total(pod, [request.memory.get(kind, 0) for request in pod]))
                for kind in kinds
            }
        )

    def _hints(self, wanted: Mapping[str, int]) -> Sequence[Hints]:
        found = self._sets(wanted)
        return [found for _ in wanted] if found else [ANY]  # kubelet hints at nothing, not at never

    def _sets(self, wanted: Mapping[str, int]) -> Hints:
        enough = self._holding(self._allocatable, wanted, {})
        usable = enough  # as long as no memory is given away
        if self.assigned:
            usable = {
                mask
                for mask in enough & self._holding(self._free, wanted, self._reusable)
                if not self._violates(mask) and not self._is_grouped(mask)
            }
        sizes = {mask: mask.bit_count() for mask in enough}
        return preferred_masks(sizes, usable, len(self._nodes))

    def _holding(
        self,
        amounts: Mapping[int, Mapping[str, int]],
        wanted: Mapping[str, int],
        reusable: Mapping[int, Mapping[str, int]],
    ) -> set[int]:
        found = set(masks(self._nodes))
        for kind, mib in wanted.items():
            sums = totals({numa: amounts[numa][kind] for numa in self._nodes})
            found = {
                mask for mask in found if sums[mask] + reusable.get(mask, {}).get(kind, 0) >= mib
            }
        return found

    def _is_grouped(self, mask: int) -> bool:
        """Return whether the set is a single node that already serves a group."""
        return mask.bit_count() == 1 and self._group[bits(mask)[0]].bit_count() > 1

    def _violates(self, mask: int) -> bool:
        """Return whether the set is a group with a node that serves itself or another group."""
        return mask.bit_count() > 1 and any(
            self._group[numa] not in (0, mask) for numa in bits(mask)
        )

    def allocate(self, index: int, request: ContainerRequest, hint: Hint) -> None:
        """Take the container's memory from the NUMA nodes of the hint, or from more."""
        wanted = request.memory
        chosen = self._chosen(wanted, hint)
        if self._violates(chosen):
            raise _unexpected("preferred hint violates NUMA node allocation")
        for numa in bits(chosen):
            self._group[numa] = chosen
        reusable = self._reusable.setdefault(chosen, {})
        for kind, mib in wanted.items():
            left = max(mib - reusable.get(kind, 0), 0)
            for numa in bits(chosen):
                part = min(left, self._free[numa][kind])
                self._free[numa][kind] -= part
                left -= part
            if request.kind == "init":
                reusable[kind] = max(reusable.get(kind, 0), mib)
            else:
                reusable[kind] = max(reusable.get(kind, 0) - mib, 0)
        self.assigned[index] = chosen

    def _chosen(self, wanted: Mapping[str, int], hint: Hint) -> int:
        best = hint
        if hint.mask is None:
            best = _best(self._sets(wanted))
            if best.mask is None:
                raise _unexpected(
                    "failed to get the default NUMA affinity, no NUMA nodes with enough memory is "
                    "available"
                )
            if hint.preferred and not best.preferred:
                raise _unexpected("failed to find the default preferred hint")
        if best.mask is not None and not self._has_free(wanted, best.mask):
            inside = best.mask
            wider = _best(
                {m: good for m, good in self._sets(wanted).items() if m and inside & ~m == 0}
            )
            if wider.mask is None:
                raise _unexpected("failed to find NUMA nodes to extend the current topology hint")
            if best.preferred and not wider.preferred:
                raise _unexpected("failed to find the extended preferred hint")
            best = wider
        assert best.mask is not None  # noqa: S101  # every way here has found a set
        return best.mask

    def _has_free(self, wanted: Mapping[str, int], mask: int) -> bool:
        return all(
            sum(self._free[numa][kind] for numa in bits(mask)) >= mib
            for kind, mib in wanted.items()
        )


def _best(hints: Hints) -> Hint:
    """A preferred one before others, then the narrowest; no mask when there is none."""
    masks_by_rank = sorted(
        (not preferred, mask.bit_count(), mask) for mask, preferred in hints.items() if mask
    )
    if not masks_by_rank:
        return Hint(mask=None, preferred=False)
    other, _, mask = masks_by_rank[0]
    return Hint(mask=mask, preferred=not other)


def _unexpected(message: str) -> ContainerRefusedError:
    return ContainerRefusedError("UnexpectedAdmissionError", f"[memorymanager] {message}")
