"""The kernel's part of a plan: command-line arguments and sysctls.

Never written, because the stock Flatcar kernel ignores them: `nohz_full` and `rcu_nocbs` (it is
built with neither NO_HZ_FULL nor RCU_NOCB_CPU) and `pcie_acs_override` (an out-of-tree patch).
"""

from collections.abc import Iterator, Sequence

from hardware.hardware import Hardware
from ignition.reasons import Line
from ignition.tuning import Purpose, Tuning

KERNEL = "https://docs.kernel.org/admin-guide"
_LARGE_MEMORY_GIB = 256


def isolates(hardware: Hardware, tuning: Tuning) -> bool:
    """Whether interrupts and system services are kept off the workload CPUs.

    A small guest with one NUMA node has nothing to align and its interrupts are the host's affair;
    asking for exclusive isolation asks for it there too.
    """
    small_guest = hardware.virtual and len(hardware.numa_nodes) == 1 and not hardware.gpus
    return tuning.isolation == "exclusive" or not small_guest


def arguments(
    hardware: Hardware, tuning: Tuning, purpose: Purpose, *, housekeeping: str, workload: str
) -> Iterator[Line]:
    """The kernel arguments, each one item of `kernel_arguments.should_exist`."""
    if isolates(hardware, tuning):
        yield from _isolation(tuning, housekeeping=housekeeping, workload=workload)
    yield from _hugepages(
        tuning.hugepages_1gi_per_numa_node, "1G", [node.id for node in hardware.numa_nodes]
    )
    yield from _hugepages(
        tuning.hugepages_2mi_per_numa_node, "2M", [node.id for node in hardware.numa_nodes]
    )
    yield from _iommu(hardware)
    yield from _memory_policy(hardware, purpose)


def _isolation(tuning: Tuning, *, housekeeping: str, workload: str) -> Iterator[Line]:
    yield Line(
        text=f"irqaffinity={housekeeping}",
        reason="interrupts are served by the housekeeping CPUs of each NUMA node",
        source=f"{KERNEL}/cpu-isolation.html",
    )
    if tuning.isolation == "exclusive":
        yield Line(
            text=f"isolcpus=managed_irq,domain,{workload}",
            reason="asked for exclusive isolation: no load balancing on workload CPUs, which suits "
            "Guaranteed pods with whole CPUs and nothing else, since kubelet ignores isolcpus",
            source="https://github.com/kubernetes/community/pull/2435",
        )
        return
    yield Line(
        text=f"isolcpus=managed_irq,{workload}",
        reason="device queues keep their managed interrupts off workload CPUs; without `domain`, "
        "because the shared pool of pods needs the load balancer",
        source="https://github.com/kubernetes/kubernetes/pull/87532",
    )


def _hugepages(pages: int, size: str, nodes: Sequence[int]) -> Iterator[Line]:
    if not pages:
        return
    count = ",".join(f"{node}:{pages}" for node in nodes) if len(nodes) > 1 else str(pages)
    yield Line(
        text=f"hugepagesz={size} hugepages={count}",
        reason="reserved at boot, where memory is not yet fragmented; size and count stand in one "
        "item, because an item that is already on the command line is dropped",
        source=f"{KERNEL}/mm/hugetlbpage.html",
    )


def _iommu(hardware: Hardware) -> Iterator[Line]:
    if hardware.virtual or not hardware.gpus:
        return
    if hardware.cpu_vendor == "intel":
        yield Line(
            text="intel_iommu=on",
            reason="the Intel IOMMU is there for SR-IOV and VFIO devices of the host",
            source=f"{KERNEL}/kernel-parameters.html",
        )
    yield Line(
        text="iommu=pt",
        reason="the host's GPUs and NICs bypass translation, so that peer transfers stay direct",
        source=f"{KERNEL}/kernel-parameters.html",
    )


def _memory_policy(hardware: Hardware, purpose: Purpose) -> Iterator[Line]:
    if purpose != "batch":
        mode = "always" if purpose == "training" else "madvise"
        why = {
            "always": "long-lived host buffers of training profit, and its throughput hides the "
            "stalls of compaction",
            "madvise": "only memory that asks for it, so that compaction does not add to the tail "
            "latency of requests",
        }
        yield Line(
            text=f"transparent_hugepage={mode}",
            reason=why[mode],
            source=f"{KERNEL}/mm/transhuge.html",
        )
    if len(hardware.numa_nodes) > 1 and purpose != "batch":
        yield Line(
            text="numa_balancing=disable",
            reason="kubelet places memory beside the GPU; automatic balancing would unmap pages to "
            "find out what is decided already",
            source=f"{KERNEL}/kernel-parameters.html",
        )


def sysctls(hardware: Hardware, purpose: Purpose) -> Iterator[Line]:
    """The sysctls, as `name = value` lines."""
    yield Line(
        text="net.ipv4.ip_forward = 1",
        reason="pods are routed through the node; kubeadm refuses to join without it",
        source="https://kubernetes.io/docs/setup/production-environment/container-runtimes/",
    )
    if purpose == "training" and hardware.memory_gib >= _LARGE_MEMORY_GIB:
        why = (
            "a checkpoint is written in bursts; the default, a share of all memory, would gather "
            f"{hardware.memory_gib // 5} GiB of dirty pages and then stop every writer"
        )
        for name, gib in (("vm.dirty_background_bytes", 2), ("vm.dirty_bytes", 16)):
            yield Line(
                text=f"{name} = {gib * 1024**3}", reason=why, source=f"{KERNEL}/sysctl/vm.html"
            )
