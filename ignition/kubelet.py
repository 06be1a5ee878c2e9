"""The kubelet's part of a plan: a patch of KubeletConfiguration (kubelet.config.k8s.io/v1beta1).

Field and option names follow k8s.io/kubelet/config/v1beta1 of Kubernetes 1.34. Memory is counted in
MiB so that the reservations sum exactly, as the Static memory manager demands.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hardware.hardware import Hardware
from ignition.reasons import Line
from ignition.tuning import Purpose

_CPU = "https://kubernetes.io/docs/tasks/administer-cluster/cpu-management-policies/"
_MEMORY = "https://kubernetes.io/docs/tasks/administer-cluster/memory-manager/"
_TOPOLOGY = "https://kubernetes.io/docs/tasks/administer-cluster/topology-manager/"
_RESERVE = "https://kubernetes.io/docs/tasks/administer-cluster/reserve-compute-resources/"
_EVICTION = "https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/"
_SWAP = "https://kubernetes.io/docs/concepts/architecture/nodes/#swap-memory"


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """Memory kept from pods, in MiB; `per_node` splits the sum of the three over the NUMA nodes."""

    kube: int
    system: int
    eviction: int
    per_node: tuple[int, ...]


def reservation(hardware: Hardware) -> Reservation:
    """What kubelet, system and eviction keep: growing with the machine, within fixed bounds."""
    mib = hardware.memory_gib * 1024
    kube = min(max(mib // 512, 1024), 4096)
    system = min(max(mib // 256, 1024), 8192)
    eviction = min(max(mib // 2048, 256), 1024)
    total = kube + system + eviction
    shares = [total * node.memory_gib // hardware.memory_gib for node in hardware.numa_nodes]
    shares[0] += total - sum(shares)
    return Reservation(kube=kube, system=system, eviction=eviction, per_node=tuple(shares))


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field of KubeletConfiguration with its reason and source."""

    name: str
    value: object
    reason: str
    source: str

    def line(self) -> Line:
        """The field as a line of the plan."""
        return Line(text=f"kubelet {self.name}", reason=self.reason, source=self.source)


def fields(
    hardware: Hardware, purpose: Purpose, reserved: Reservation, *, housekeeping: str
) -> tuple[Field, ...]:
    """Every field that the plan decides, in the order of the configuration file."""
    return (
        *_cpu(hardware, purpose, housekeeping),
        *_memory(reserved),
        *_memory_manager(hardware, reserved),
        *_topology(hardware, purpose),
    )


def _cpu(hardware: Hardware, purpose: Purpose, housekeeping: str) -> Sequence[Field]:
    options = _cpu_options(hardware, purpose)
    decided = [
        Field(
            name="reservedSystemCPUs",
            value=housekeeping,
            reason="the housekeeping CPUs, the same list as irqaffinity; not a cgroup, because "
            "systemd's CPUAffinity moves the daemons",
            source=_RESERVE,
        ),
        Field(
            name="cpuManagerPolicy",
            value="static",
            reason="Guaranteed pods with whole CPUs get CPUs of their own",
            source=_CPU,
        ),
    ]
    if options:
        decided.append(
            Field(
                name="cpuManagerPolicyOptions",
                value=options,
                reason="whole cores, so that two pods never share one"
                + (
                    "; an 8-GPU pod gets its CPUs evenly from both NUMA nodes"
                    if "distribute-cpus-across-numa" in options
                    else ""
                )
                + "; not strict-cpu-reservation, or daemon pods have no CPU beside a full node",
                source=_CPU,
            )
        )
    return decided


def _cpu_options(hardware: Hardware, purpose: Purpose) -> Mapping[str, str]:
    """Option values are strings. Guests keep none: their SMT layout is the host's, not known."""
    if not hardware.gpus:
        return {}
    options = {"full-pcpus-only": "true"}
    if _spans_numa_nodes(hardware, purpose):
        options["distribute-cpus-across-numa"] = "true"
    return options


def _memory(reserved: Reservation) -> Sequence[Field]:
    return (
        Field(
            name="kubeReserved",
            value={"memory": f"{reserved.kube}Mi"},
            reason="memory of kubelet and containerd",
            source=_RESERVE,
        ),
        Field(
            name="systemReserved",
            value={"memory": f"{reserved.system}Mi"},
            reason="memory of the operating system's daemons",
            source=_RESERVE,
        ),
        Field(
            name="evictionHard",
            value={
                "memory.available": f"{reserved.eviction}Mi",
                "nodefs.available": "10%",
                "nodefs.inodesFree": "5%",
                "imagefs.available": "15%",
                "imagefs.inodesFree": "5%",
            },
            reason="memory as a quantity, or the reservations cannot be summed; the others repeat "
            "the defaults, which a single threshold of one's own switches off",
            source=_EVICTION,
        ),
        Field(
            name="failSwapOn",
            value=True,
            reason="no swap: memory on it is on no NUMA node",
            source=_SWAP,
        ),
    )


def _memory_manager(hardware: Hardware, reserved: Reservation) -> Sequence[Field]:
    if len(hardware.numa_nodes) == 1:
        return ()
    return (
        Field(
            name="memoryManagerPolicy",
            value="Static",
            reason="memory of Guaranteed pods comes from the NUMA nodes of their GPUs",
            source=_MEMORY,
        ),
        Field(
            name="reservedMemory",
            value=[
                {"numaNode": node.id, "limits": {"memory": f"{share}Mi"}}
                for node, share in zip(hardware.numa_nodes, reserved.per_node, strict=True)
            ],
            reason="sums exactly to kubeReserved, systemReserved and evictionHard, or kubelet "
            "does not start",
            source=_MEMORY,
        ),
    )


def _spans_numa_nodes(hardware: Hardware, purpose: Purpose) -> bool:
    """Whether pods are expected that take the GPUs of more than one NUMA node."""
    return purpose == "training" and len({gpu.numa_node for gpu in hardware.gpus}) > 1


def _topology(hardware: Hardware, purpose: Purpose) -> Sequence[Field]:
    if len(hardware.numa_nodes) == 1:
        return ()
    if purpose == "inference":
        policy = "single-numa-node"
        reason = "a served model fits the GPUs of one NUMA node; larger pods are refused"
    else:
        policy = "best-effort"
        reason = (
            "single-numa-node refuses every pod that needs the GPUs of both NUMA nodes, and "
            "restricted does when its CPUs would fit one"
        )
    decided = [
        Field(name="topologyManagerPolicy", value=policy, reason=reason, source=_TOPOLOGY),
        Field(
            name="topologyManagerScope",
            value="pod",
            reason="the containers of a pod are placed together",
            source=_TOPOLOGY,
        ),
    ]
    if policy == "best-effort":
        decided.append(
            Field(
                name="topologyManagerPolicyOptions",
                value={"prefer-closest-numa-nodes": "true"},
                reason="where more than one NUMA node is needed, the near ones",
                source=_TOPOLOGY,
            )
        )
    return decided
