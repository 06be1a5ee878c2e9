"""The device manager: which NUMA nodes have enough GPUs, and which GPUs a container gets.

After pkg/kubelet/cm/devicemanager of Kubernetes 1.36; each GPU tells its NUMA node, as NVIDIA's
device plugin does.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from ignition.shapes.node import ContainerRequest, EmptyNode
from ignition.shapes.pod_request import ContainerRefusedError, pod_total, preferred_masks
from ignition.shapes.topology_manager import ANY, NEVER, Hint, Hints, totals


class DeviceManager:
    """GPUs; where kubelet takes any of several, the one with the lowest index stands for it."""

    def __init__(self, node: EmptyNode) -> None:
        """All GPUs are free."""
        self._numa_of = {gpu: cell.id for cell in node.cells for gpu in cell.gpus}
        self._nodes = [cell.id for cell in node.cells]
        self._free = frozenset(self._numa_of)
        self._reusable: frozenset[int] = frozenset()
        self.assigned: dict[int, frozenset[int]] = {}

    def hints(self, request: ContainerRequest) -> Sequence[Hints]:
        """Hints for one container."""
        return [self._hints(request.gpus, self._reusable)]

    def pod_hints(self, pod: Sequence[ContainerRequest]) -> Sequence[Hints]:
        """Hints for the pod as a whole."""
        return [self._hints(int(pod_total(pod, [request.gpus for request in pod])), frozenset())]

    def _hints(self, wanted: int, reusable: frozenset[int]) -> Hints:
        if wanted == 0 or not self._numa_of:  # without a GPU there is no device plugin to ask
            return ANY
        usable = self._free | reusable
        if len(usable) < wanted:
            return NEVER
        must = sum(1 << numa for numa in {self._numa_of[gpu] for gpu in reusable})
        enough = {
            mask: mask.bit_count()
            for mask, count in totals(self._count(self._numa_of)).items()
            if count >= wanted
        }
        masks = [
            mask
            for mask, count in totals(self._count(usable)).items()
            if count >= wanted and must & ~mask == 0
        ]
        return preferred_masks(enough, masks, len(self._nodes)) or NEVER

    def _count(self, gpus: Iterable[int]) -> dict[int, int]:
        counted = Counter(self._numa_of[gpu] for gpu in gpus)
        return {numa: counted[numa] for numa in self._nodes}

    def allocate(self, index: int, request: ContainerRequest, hint: Hint) -> None:
        """Take the GPUs that init containers left, then aligned ones, then others."""
        if request.gpus and self._numa_of:
            self.assigned[index] = self._take(request.gpus, hint.mask)
            self._free -= self.assigned[index]
        taken = self.assigned.get(index, frozenset())
        if request.kind == "init":
            self._reusable |= taken
        else:
            self._reusable -= taken

    def _take(self, wanted: int, mask: int | None) -> frozenset[int]:
        order = sorted(self._reusable)
        if len(order) < wanted:
            if len(self._free) < wanted - len(order):
                raise ContainerRefusedError(
                    "UnexpectedAdmissionError",
                    "requested number of devices unavailable for nvidia.com/gpu. Requested: "
                    f"{wanted - len(order)}, Available: {len(self._free)}",
                )
            order += sorted(
                self._free,
                key=lambda gpu: (mask is not None and not mask >> self._numa_of[gpu] & 1, gpu),
            )
        return frozenset(order[:wanted])
