"""The kubelet's part of a plan: a patch of KubeletConfiguration (kubelet.config.k8s.io/v1beta1).

Field and option names follow k8s.io/kubelet/config/v1beta1 of Kubernetes 1.36. Memory is counted in
MiB so that the reservations sum exactly, as the Static memory manager demands.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hardware.catalogue import Hardware
from ignition.plan import topology_manager
from ignition.plan.plan_lines import KubeletField
from ignition.plan.tuning import Purpose, Tuning

_CPU = "https://kubernetes.io/docs/tasks/administer-cluster/cpu-management-policies/"
_MEMORY = "https://kubernetes.io/docs/tasks/administer-cluster/memory-manager/"
_UNCORE = "https://github.com/kubernetes/enhancements/issues/4800"
_RESERVE = "https://kubernetes.io/docs/tasks/administer-cluster/reserve-compute-resources/"
_EVICTION = "https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/"
_IMAGES = "https://kubernetes.io/docs/concepts/containers/images/#serial-and-parallel-image-pulls"
_PIDS = "https://kubernetes.io/docs/concepts/policy/pid-limiting/"
_PARALLEL_PULLS = 5
_PROCESSES_OF_A_POD = 65536
_SWAP = "https://kubernetes.io/docs/concepts/architecture/nodes/#swap-memory"


@dataclass(frozen=True, kw_only=True)
class Reservation:
    """Memory kept from pods, in MiB; `per_node` splits the sum of the three over the NUMA nodes."""

    kube: int
    system: int
    eviction: int
    per_node: tuple[int, ...]


def reservation(hardware: Hardware) -> Reservation:
    """The memory that kubelet, system and eviction reserve, a share of the machine's memory."""
    mib = hardware.memory_gib * 1024
    kube = min(max(mib // 512, 1024), 4096)
    system = min(max(mib // 256, 1024), 8192)
    eviction = min(max(mib // 2048, 256), 1024)
    total = kube + system + eviction
    shares = [total * node.memory_gib // hardware.memory_gib for node in hardware.numa_nodes]
    shares[0] += total - sum(shares)
    return Reservation(kube=kube, system=system, eviction=eviction, per_node=tuple(shares))


def fields(
    hardware: Hardware,
    tuning: Tuning,
    purpose: Purpose,
    reserved: Reservation,
    *,
    housekeeping: str,
) -> tuple[KubeletField, ...]:
    """Every field that the plan decides, in the order of the configuration file."""
    return (
        *_cpu(hardware, tuning, purpose, housekeeping),
        *_memory(reserved),
        *_memory_manager(hardware, reserved),
        *topology_manager.fields(hardware, tuning, purpose),
        *_pods(),
    )


def _cpu(
    hardware: Hardware, tuning: Tuning, purpose: Purpose, housekeeping: str
) -> Sequence[KubeletField]:
    options = _cpu_options(hardware, tuning, purpose)
    decided = [
        KubeletField(
            name="reservedSystemCPUs",
            value=housekeeping,
            reason="the housekeeping CPUs, the same list as irqaffinity; not a cgroup, because "
            "systemd's CPUAffinity moves the daemons",
            source=_RESERVE,
        ),
        KubeletField(
            name="cpuManagerPolicy",
            value="static",
            reason="Guaranteed pods with whole CPUs get CPUs of their own",
            source=_CPU,
        ),
    ]
    if options:
        reasons = [*options.values(), "not strict-cpu-reservation, or daemon pods have no CPU"]
        decided.append(
            KubeletField(
                name="cpuManagerPolicyOptions",
                value=dict.fromkeys(options, "true"),
                reason=f"{'; '.join(reasons)} beside a full node",
                source=_UNCORE if "prefer-align-cpus-by-uncorecache" in options else _CPU,
            )
        )
    return decided


def _cpu_options(hardware: Hardware, tuning: Tuning, purpose: Purpose) -> Mapping[str, str]:
    """The options with their reasons. Guests without GPU keep none: their SMT is not known."""
    options: dict[str, str] = {}
    if not hardware.gpus:
        return options
    # kubelet divides CPUs by cores; where some cores have one thread and some two it is no use
    if len({len(core) for core in hardware.cores()}) == 1:
        options["full-pcpus-only"] = "whole cores, so that two pods never share one"
    if topology_manager.spans_numa_nodes(hardware, tuning, purpose):
        options["distribute-cpus-across-numa"] = (
            "a pod with more CPUs than a NUMA node can give gets them evenly from several, one "
            "with fewer gets all of them from one, whatever its GPUs"
        )
    elif hardware.cpu_vendor == "amd" and not hardware.virtual:
        # kubelet refuses it beside distribute-cpus-across-numa
        options["prefer-align-cpus-by-uncorecache"] = (
            "EPYC has an L3 cache for each complex of cores, and a pod should share few"
        )
    return options


def _memory(reserved: Reservation) -> Sequence[KubeletField]:
    return (
        KubeletField(
            name="kubeReserved",
            value={"memory": f"{reserved.kube}Mi"},
            reason="memory of kubelet and containerd",
            source=_RESERVE,
        ),
        KubeletField(
            name="systemReserved",
            value={"memory": f"{reserved.system}Mi"},
            reason="memory of the operating system's daemons",
            source=_RESERVE,
        ),
        KubeletField(
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
        KubeletField(
            name="failSwapOn",
            value=True,
            reason="no swap: memory on it is on no NUMA node",
            source=_SWAP,
        ),
    )


def _pods() -> Sequence[KubeletField]:
    """Images in parallel, and a limit of processes."""
    return (
        KubeletField(
            name="serializeImagePulls",
            value=False,
            reason="one large image would hold up all others: the default is one at a time",
            source=_IMAGES,
        ),
        KubeletField(
            name="maxParallelImagePulls",
            value=_PARALLEL_PULLS,
            reason="some at a time, so that they do not slow each other and the checkpoints down",
            source=_IMAGES,
        ),
        KubeletField(
            name="podPidsLimit",
            value=_PROCESSES_OF_A_POD,
            reason="without a limit one pod can take every process id of the node; eight ranks "
            "with their data loaders and threads take some ten thousand",
            source=_PIDS,
        ),
    )


def _memory_manager(hardware: Hardware, reserved: Reservation) -> Sequence[KubeletField]:
    if len(hardware.numa_nodes) == 1:
        return ()
    return (
        KubeletField(
            name="memoryManagerPolicy",
            value="Static",
            reason="memory of Guaranteed pods comes from the NUMA nodes of their GPUs",
            source=_MEMORY,
        ),
        KubeletField(
            name="reservedMemory",
            value=[
                {"numaNode": node.id, "limits": {"memory": f"{share}Mi"}}
                for node, share in zip(hardware.numa_nodes, reserved.per_node, strict=True)
            ],
            reason="sums exactly to kubeReserved, systemReserved and evictionHard, or kubelet "
            "does not start; no huge pages, which kubelet cannot reserve for the system",
            source=_MEMORY,
        ),
    )
