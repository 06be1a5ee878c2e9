"""The sysctls of a plan."""

from collections.abc import Iterator

from hardware.catalogue import Hardware
from ignition.plan.reasons import Line
from ignition.plan.sources import VM
from ignition.plan.tuning import Purpose, Tuning

_LARGE_MEMORY_GIB = 256
_KIB_PER_GIB = 1024**2


def sysctls(hardware: Hardware, tuning: Tuning, purpose: Purpose) -> Iterator[Line]:
    """The sysctls, as `name = value` lines."""
    yield Line(
        text="net.ipv4.ip_forward = 1",
        reason="pods are routed through the node; kubeadm refuses to join without it",
        source="https://kubernetes.io/docs/setup/production-environment/container-runtimes/",
    )
    if purpose == "training" and hardware.memory_gib >= _LARGE_MEMORY_GIB:
        yield from _write_back(hardware)
    if tuning.hugetlb_shm_group is not None:
        yield Line(
            text=f"vm.hugetlb_shm_group = {tuning.hugetlb_shm_group}",
            reason="asked for: the group may make SysV shared memory of huge pages",
            source=VM,
        )
    if tuning.realtime:
        yield Line(
            text="kernel.sched_rt_runtime_us = -1",
            reason="Flatcar's kernel has RT_GROUP_SCHED, and a pod's group has no budget of "
            "its own: without this every SCHED_FIFO in a pod fails with EPERM; a thread that spins "
            "then starves its own CPUs alone, hence exclusive isolation",
            source="https://docs.kernel.org/scheduler/sched-rt-group.html",
        )


def _write_back(hardware: Hardware) -> Iterator[Line]:
    why = (
        "a checkpoint is written in bursts; the default, a share of all memory, would gather "
        f"{hardware.memory_gib // 5} GiB of dirty pages and then stop every writer"
    )
    for name, gib in (("vm.dirty_background_bytes", 2), ("vm.dirty_bytes", 16)):
        yield Line(text=f"{name} = {gib * 1024**3}", reason=why, source=VM)
    yield Line(
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
