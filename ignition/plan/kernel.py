"""The kernel command line of a plan. What the stock kernel ignores is refused by choices.py."""

from collections.abc import Iterator, Sequence

from hardware.catalogue import Hardware
from ignition.plan.reasons import Line
from ignition.plan.sources import KERNEL, PARAMETERS
from ignition.plan.tuning import Purpose, Tuning

_THP_REASONS = {
    "always": "long-lived host buffers of training profit, and its throughput hides the stalls of "
    "compaction",
    "madvise": "only memory that asks for it, so that compaction does not add to the tail latency "
    "of requests",
}


def isolates(hardware: Hardware, tuning: Tuning) -> bool:
    """Whether interrupts and system services are kept off the workload CPUs.

    A small guest with one NUMA node has nothing to align and its interrupts are the host's affair;
    asking for exclusive isolation asks for it there too.
    """
    small_guest = hardware.virtual and len(hardware.numa_nodes) == 1 and not hardware.gpus
    return tuning.isolation == "exclusive" or not small_guest


def transparent_hugepages(tuning: Tuning, purpose: Purpose) -> str | None:
    """The mode that the plan sets; None leaves the kernel's own."""
    by_purpose = {"training": "always", "inference": "madvise", "batch": None}
    return tuning.transparent_hugepages or by_purpose[purpose]


def arguments(
    hardware: Hardware, tuning: Tuning, purpose: Purpose, *, housekeeping: str, workload: str
) -> Iterator[Line]:
    """The kernel arguments, each one item of `kernel_arguments.should_exist`."""
    if isolates(hardware, tuning) and tuning.irq == "housekeeping":
        yield from _isolation(tuning, housekeeping=housekeeping, workload=workload)
    nodes = [node.id for node in hardware.numa_nodes]
    yield from _hugepages(tuning.hugepages_1gi_per_numa_node, "1G", nodes)
    yield from _hugepages(tuning.hugepages_2mi_per_numa_node, "2M", nodes)
    if not hardware.virtual:
        yield from _iommu(hardware, tuning)
        yield from _power(hardware, tuning)
    yield from _memory_policy(hardware, tuning, purpose)
    for argument in tuning.extra_kernel_arguments:
        yield Line(
            text=argument,
            reason="asked for by tuning.extra_kernel_arguments",
            source=PARAMETERS,
        )


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


def _iommu(hardware: Hardware, tuning: Tuning) -> Iterator[Line]:
    intel = hardware.cpu_vendor == "intel"
    if tuning.iommu == "off":
        yield Line(
            text=f"{'intel' if intel else 'amd'}_iommu=off",
            reason="asked for: neither guests nor SR-IOV use devices of this machine",
            source=PARAMETERS,
        )
        return
    if not hardware.gpus and tuning.iommu == "passthrough":
        return
    if intel:
        yield Line(
            text="intel_iommu=on",
            reason="the Intel IOMMU is there for SR-IOV and VFIO devices of the host",
            source=PARAMETERS,
        )
    yield Line(
        text="iommu=pt",
        reason="the host's GPUs and NICs bypass translation, so that peer transfers stay direct",
        source=PARAMETERS,
    )


def _power(hardware: Hardware, tuning: Tuning) -> Iterator[Line]:
    if tuning.power == "performance":
        driver = "intel_idle" if hardware.cpu_vendor == "intel" else "processor"
        yield Line(
            text=f"{driver}.max_cstate=1",
            reason="asked for performance: no CPU sleeps deeper than C1, whose wake-up is short",
            source=f"{KERNEL}/cpu-isolation.html",
        )
    if hardware.pcie_aspm == "off":
        yield Line(
            text="pcie_aspm=off",
            reason="the vendor asks for it: Linux leaves the links' power states as the firmware "
            "set them (it does not switch ASPM off that the firmware switched on)",
            source=PARAMETERS,
        )


def _memory_policy(hardware: Hardware, tuning: Tuning, purpose: Purpose) -> Iterator[Line]:
    mode = transparent_hugepages(tuning, purpose)
    if mode is not None:
        asked = tuning.transparent_hugepages is not None
        yield Line(
            text=f"transparent_hugepage={mode}",
            reason="asked for by tuning.transparent_hugepages" if asked else _THP_REASONS[mode],
            source=f"{KERNEL}/mm/transhuge.html",
        )
    if len(hardware.numa_nodes) > 1 and purpose != "batch":
        yield Line(
            text="numa_balancing=disable",
            reason="kubelet places memory beside the GPU; automatic balancing would unmap pages to "
            "find out what is decided already",
            source=PARAMETERS,
        )
