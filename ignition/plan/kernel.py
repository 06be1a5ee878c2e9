"""The kernel command line and the sysctls of a plan.

Arguments that the stock kernel ignores are refused by refused_arguments.py.
"""

from collections.abc import Iterator, Sequence

from hardware.catalogue import Hardware
from ignition.plan.plan_lines import FLATCAR_KERNEL, KERNEL, PARAMETERS, VM, ReasonedLine
from ignition.plan.tuning import Purpose, Tuning

_LARGE_MEMORY_GIB = 256
_KIB_PER_GIB = 1024**2
REALTIME = ("skew_tick", "nowatchdog")
"""The arguments that purpose realtime adds."""
_WAITS_FOR_NOTHING = "a real-time thread waits for nothing"
_THP_REASONS = {
    "always": "long-lived host buffers of training profit, and its throughput hides the stalls of "
    "compaction",
    "madvise": "only memory that asks for it, so that compaction does not add to the tail latency "
    "of requests",
    "never": "a page that the kernel collects or splits stalls the thread that must not wait",
}


def isolates(hardware: Hardware, tuning: Tuning) -> bool:
    """Return whether interrupts and system services are kept off the workload CPUs.

    A small guest with one NUMA node has nothing to align and its interrupts are the host's affair;
    asking for exclusive isolation asks for it there too.
    """
    small_guest = hardware.virtual and len(hardware.numa_nodes) == 1 and not hardware.gpus
    return tuning.isolation == "exclusive" or not small_guest


def transparent_hugepages(tuning: Tuning, purpose: Purpose) -> str | None:
    """The mode that the plan sets; None leaves the kernel's own."""
    by_purpose = {"training": "always", "inference": "madvise", "batch": None, "realtime": "never"}
    return tuning.transparent_hugepages or by_purpose[purpose]


def arguments(
    hardware: Hardware, tuning: Tuning, purpose: Purpose, *, housekeeping: str, workload: str
) -> Iterator[ReasonedLine]:
    """The kernel arguments, each one item of `kernel_arguments.should_exist`."""
    if isolates(hardware, tuning) and tuning.irq == "housekeeping":
        yield from _isolation(tuning, housekeeping=housekeeping, workload=workload)
    nodes = [node.id for node in hardware.numa_nodes]
    yield from _hugepages(tuning.hugepages_1gi_per_numa_node, "1G", nodes)
    yield from _hugepages(tuning.hugepages_2mi_per_numa_node, "2M", nodes)
    if not hardware.virtual:
        yield from _iommu(hardware, tuning)
        yield from _power(hardware, tuning, purpose)
    if purpose == "realtime":
        yield from _timers()
    yield from _memory_policy(hardware, tuning, purpose)
    for argument in tuning.extra_kernel_arguments:
        yield ReasonedLine(
            text=argument,
            reason="asked for by tuning.extra_kernel_arguments",
            source=PARAMETERS,
        )


def _isolation(tuning: Tuning, *, housekeeping: str, workload: str) -> Iterator[ReasonedLine]:
    yield ReasonedLine(
        text=f"irqaffinity={housekeeping}",
        reason="interrupts are served by the housekeeping CPUs of each NUMA node",
        source=f"{KERNEL}/cpu-isolation.html",
    )
    if tuning.isolation == "exclusive":
        yield ReasonedLine(
            text=f"isolcpus=managed_irq,domain,{workload}",
            reason="asked for exclusive isolation: nothing spreads threads over workload CPUs, so "
            "a program pins each of its threads, or all of them run on the CPU that they were "
            "forked on, also in a Guaranteed pod with CPUs of its own",
            source="https://github.com/kubernetes/kubernetes/issues/96091",
        )
        return
    yield ReasonedLine(
        text=f"isolcpus=managed_irq,{workload}",
        reason="device queues keep their managed interrupts off workload CPUs; without `domain`, "
        "because the shared pool of pods needs the load balancer",
        source="https://github.com/kubernetes/kubernetes/pull/87532",
    )


def _hugepages(pages: int, size: str, nodes: Sequence[int]) -> Iterator[ReasonedLine]:
    if not pages:
        return
    count = ",".join(f"{node}:{pages}" for node in nodes) if len(nodes) > 1 else str(pages)
    yield ReasonedLine(
        text=f"hugepagesz={size} hugepages={count}",
        reason="reserved at boot, where memory is not yet fragmented; size and count stand in one "
        "item, because an item that is already on the command line is dropped",
        source=f"{KERNEL}/mm/hugetlbpage.html",
    )


def _iommu(hardware: Hardware, tuning: Tuning) -> Iterator[ReasonedLine]:
    intel = hardware.cpu_vendor == "intel"
    if tuning.iommu == "off":
        yield ReasonedLine(
            text=f"{'intel' if intel else 'amd'}_iommu=off",
            reason="asked for: neither guests nor SR-IOV use devices of this machine",
            source=PARAMETERS,
        )
        return
    if not hardware.gpus and tuning.iommu == "passthrough":
        return
    if intel:
        yield ReasonedLine(
            text="intel_iommu=on",
            reason="the Intel IOMMU is there for SR-IOV and VFIO devices of the host",
            source=PARAMETERS,
        )
    yield ReasonedLine(
        text="iommu=pt",
        reason="the host's GPUs and NICs bypass translation, so that peer transfers stay direct",
        source=PARAMETERS,
    )


def _power(hardware: Hardware, tuning: Tuning, purpose: Purpose) -> Iterator[ReasonedLine]:
    if (governor := governor_of(hardware)) is not None:
        yield ReasonedLine(
            text=f"cpufreq.default_governor={governor}",
            reason="Flatcar's kernel names no default, so that it would be schedutil, or powersave "
            "where the processor chooses its own clock (intel_pstate in active mode)",
            source=FLATCAR_KERNEL,
        )
    if tuning.power == "performance" or (tuning.power is None and purpose == "realtime"):
        asked = "asked for performance" if tuning.power else _WAITS_FOR_NOTHING
        driver = "intel_idle" if hardware.cpu_vendor == "intel" else "processor"
        yield ReasonedLine(
            text=f"{driver}.max_cstate=1",
            reason=f"{asked}: no CPU sleeps deeper than C1, whose wake-up is short",
            source=f"{KERNEL}/cpu-isolation.html",
        )
    if hardware.pcie_aspm == "off":
        yield ReasonedLine(
            text="pcie_aspm=off",
            reason="the vendor asks for it: Linux leaves the links' power states as the firmware "
            "set them (it does not switch ASPM off that the firmware switched on)",
            source=PARAMETERS,
        )


def _timers() -> Iterator[ReasonedLine]:
    yield ReasonedLine(
        text="skew_tick=1",
        reason=f"{_WAITS_FOR_NOTHING}: without it the ticks of all CPUs meet at one lock",
        source=PARAMETERS,
    )
    yield ReasonedLine(
        text="nowatchdog",
        reason=f"{_WAITS_FOR_NOTHING}: the watchdogs of lockups wake each CPU, and Flatcar's "
        "kernel panics where a thread spins for longer than they wait (BOOTPARAM_SOFTLOCKUP_PANIC)",
        source=FLATCAR_KERNEL,
    )


def governor_of(hardware: Hardware) -> str | None:
    """The frequency governor that the plan sets.

    None for guests and arm64, most of which have no cpufreq driver to ask.
    """
    return None if hardware.virtual or hardware.arch != "amd64" else "performance"


def _memory_policy(hardware: Hardware, tuning: Tuning, purpose: Purpose) -> Iterator[ReasonedLine]:
    mode = transparent_hugepages(tuning, purpose)
    if mode is not None:
        asked = tuning.transparent_hugepages is not None
        yield ReasonedLine(
            text=f"transparent_hugepage={mode}",
            reason="asked for by tuning.transparent_hugepages" if asked else _THP_REASONS[mode],
            source=f"{KERNEL}/mm/transhuge.html",
        )
    if len(hardware.numa_nodes) > 1 and purpose != "batch":
        yield ReasonedLine(
            text="numa_balancing=disable",
            reason="kubelet places memory beside the GPU; automatic balancing would unmap pages to "
            "find out what is decided already",
            source=PARAMETERS,
        )


def sysctls(hardware: Hardware, tuning: Tuning, purpose: Purpose) -> Iterator[ReasonedLine]:
    """The sysctls, as `name = value` lines."""
    yield ReasonedLine(
        text="net.ipv4.ip_forward = 1",
        reason="pods are routed through the node; kubeadm refuses to join without it",
        source="https://kubernetes.io/docs/setup/production-environment/container-runtimes/",
    )
    yield ReasonedLine(
        text="fs.inotify.max_user_instances = 8192",
        reason="kubelet, containerd and the pods of one user share them; the kernel's 128 end with "
        '"too many open files"',
        source="https://kind.sigs.k8s.io/docs/user/known-issues/#pod-errors-due-to-too-many-open-files",
    )
    if hardware.gpus:
        yield ReasonedLine(
            text="vm.max_map_count = 1048576",
            reason="CUDA, NCCL and data loaders with many files map more than the kernel's 65530 "
            "pieces of memory, and then fail with ENOMEM while memory is free",
            source=VM,
        )
    if purpose == "training" and hardware.memory_gib >= _LARGE_MEMORY_GIB:
        yield from _write_back(hardware)
    if tuning.hugetlb_shm_group is not None:
        yield ReasonedLine(
            text=f"vm.hugetlb_shm_group = {tuning.hugetlb_shm_group}",
            reason="asked for: the group may make SysV shared memory of huge pages",
            source=VM,
        )
    if tuning.realtime:
        yield ReasonedLine(
            text="kernel.sched_rt_runtime_us = -1",
            reason="Flatcar's kernel has RT_GROUP_SCHED, and a pod's group has no budget of "
            "its own: without this every SCHED_FIFO in a pod fails with EPERM; a thread that spins "
            "then starves its own CPUs alone, hence exclusive isolation",
            source="https://docs.kernel.org/scheduler/sched-rt-group.html",
        )


def _write_back(hardware: Hardware) -> Iterator[ReasonedLine]:
    why = (
        "a checkpoint is written in bursts; the default, a share of all memory, would gather "
        f"{hardware.memory_gib // 5} GiB of dirty pages and then stop every writer"
    )
    for name, gib in (("vm.dirty_background_bytes", 2), ("vm.dirty_bytes", 16)):
        yield ReasonedLine(text=f"{name} = {gib * 1024**3}", reason=why, source=VM)
    yield ReasonedLine(
        text=f"vm.min_free_kbytes = {min_free_kbytes(hardware)}",
        reason="drivers allocate in interrupts, which cannot wait, also while a checkpoint fills "
        "the page cache; the kernel shares the sum among NUMA nodes by their memory",
        source=VM,
    )


def min_free_kbytes(hardware: Hardware) -> int:
    """A thousandth of each NUMA node's memory, 1 GiB of a node at most."""
    return sum(
        min(node.memory_gib * _KIB_PER_GIB // 1024, _KIB_PER_GIB) for node in hardware.numa_nodes
    )
