"""A pod goes through an empty node's kubelet: hints, their merging, and the containers' shares."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hardware.cpuset import format_list
from ignition.shapes.cpu_manager import CpuManager
from ignition.shapes.device_manager import DeviceManager
from ignition.shapes.memory_manager import MemoryManager
from ignition.shapes.node import ContainerRequest, EmptyNode
from ignition.shapes.pod_request import ContainerRefusedError, pod_request
from ignition.shapes.topology_manager import Hint, Hints, bits, merge

NO_START = "KubeletDoesNotStart"
AFFINITY = "TopologyAffinityError"


@dataclass(frozen=True, kw_only=True)
class Share:
    """The resources of a container: exclusive CPUs as a list, GPUs, the NUMA nodes of its memory.

    `hint` has the NUMA nodes that all resources agreed on, empty where any will do; `aligned` says
    whether no better ones could be had.
    """

    hint: tuple[int, ...] = ()
    aligned: bool = False
    cpus: str = ""
    memory: tuple[int, ...] = ()
    gpus: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class KubeletOutcome:
    """Kubelet's verdict: `reason` and `message` are empty where it admits the pod.

    `shares` follow the containers of the pod as given; one that was not reached has nothing.
    `hints` are those of the last merging, by resource: gpus, cpus, memory; `asked` is what they
    were for, a container or the pod as a whole.
    """

    reason: str = ""
    message: str = ""
    shares: tuple[Share, ...] = ()
    hints: dict[str, Sequence[Hints]] = field(default_factory=dict)
    asked: ContainerRequest = field(default_factory=ContainerRequest)


class _Run:
    """The managers of one kubelet and one pod on its way through them."""

    def __init__(self, node: EmptyNode, pod: Sequence[ContainerRequest]) -> None:
        self.node = node
        self.pod = pod
        self.devices = DeviceManager(node)
        self.cpus: CpuManager | None = None
        self.memory: MemoryManager | None = None
        if all(request.cpus and request.memory_mib for request in pod):  # Guaranteed
            self.cpus = CpuManager(node)
            self.memory = MemoryManager(node) if node.memory_manager else None
        self.merged: dict[int, Hint] = {}
        self.hints: dict[str, Sequence[Hints]] = {}
        self.asked = ContainerRequest()
        first = [i for i, request in enumerate(pod) if request.kind != "app"]
        self.order = [*first, *(i for i in range(len(pod)) if i not in first)]

    def admit(self) -> None:
        """Raises ContainerRefusedError where kubelet does not take the pod."""
        if self.node.policy == "none":
            for index in self.order:
                self._allocate(index, Hint(mask=None, preferred=False))
            return
        together = self._merge(None) if self.node.scope == "pod" else None
        for index in self.order:
            hint = self._merge(self.pod[index]) if together is None else together
            self.merged[index] = hint
            self._allocate(index, hint)

    def _merge(self, request: ContainerRequest | None) -> Hint:
        self.asked = pod_request(self.pod) if request is None else request
        managers = {"gpus": self.devices, "cpus": self.cpus, "memory": self.memory}
        self.hints = {
            name: manager.pod_hints(self.pod) if request is None else manager.hints(request)
            for name, manager in managers.items()
            if manager is not None
        }
        hint, admitted = merge(self.node, [one for hints in self.hints.values() for one in hints])
        if not admitted:
            raise ContainerRefusedError(
                AFFINITY, "Resources cannot be allocated with Topology locality"
            )
        return hint

    def _allocate(self, index: int, hint: Hint) -> None:
        for manager in (self.devices, self.cpus, self.memory):
            if manager is not None:
                manager.allocate(index, self.pod[index], hint)

    def share(self, index: int) -> Share:
        """The resources that the container has got."""
        hint = self.merged.get(index, Hint(mask=None, preferred=False))
        cpus = self.cpus.assigned.get(index, frozenset()) if self.cpus else frozenset()
        memory = self.memory.assigned.get(index, 0) if self.memory else 0
        return Share(
            hint=bits(hint.mask or 0),
            aligned=hint.preferred,
            cpus=format_list(cpus),
            memory=bits(memory),
            gpus=tuple(sorted(self.devices.assigned.get(index, ()))),
        )


def run(node: EmptyNode, pod: Sequence[ContainerRequest]) -> KubeletOutcome:
    """Run a pod through the resource managers of an empty node to which it was bound."""
    if node.policy != "none" and len(node.cells) > node.max_numa_nodes:
        return KubeletOutcome(
            reason=NO_START,
            message=f"unsupported on machines with more than {node.max_numa_nodes} NUMA Nodes",
        )
    on_its_way = _Run(node, pod)
    reason = message = ""
    try:
        on_its_way.admit()
    except ContainerRefusedError as error:
        reason, message = error.reason, str(error)
    shares = tuple(on_its_way.share(index) for index in range(len(pod)))
    return KubeletOutcome(
        reason=reason,
        message=message,
        shares=shares,
        hints=on_its_way.hints,
        asked=on_its_way.asked,
    )
