"""Checks that a machine can carry the tuning of a pool; each problem is one sentence."""

import ipaddress
import re
from collections.abc import Iterator

from hardware.catalogue import Hardware
from ignition.plan.kernel import REALTIME
from ignition.plan.refused_arguments import wrong_arguments, wrong_options
from ignition.plan.tuning import Purpose, Tuning

_MIB_PER_GIB = 1024
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?", re.ASCII)
_MAX_GROUP = 2**32 - 2
_LARGEST_IO_MIB_PER_S = 1024**2


def problems(
    hardware: Hardware, tuning: Tuning, purpose: Purpose, reserved_mib: tuple[int, ...]
) -> Iterator[str]:
    """Yield why no plan can be made; `reserved_mib` is the memory reserved on each NUMA node."""
    if hardware.gpus and hardware.arch != "amd64":
        yield (
            f"{hardware.name} has GPUs on {hardware.arch}, but Flatcar's NVIDIA driver extensions "
            "are built for amd64 alone"
        )
    yield from _counts(tuning)
    yield from _nodes(hardware, tuning, reserved_mib)
    yield from _gpus(hardware, tuning)
    yield from _bare_metal(hardware, tuning)
    yield from _scheduling(tuning, purpose)
    for position, server in enumerate(tuning.ntp_servers):
        if not _is_server(server):
            yield f'tuning.ntp_servers[{position}]: "{server}" is no name or address of a server'
    yield from wrong_arguments(tuning.extra_kernel_arguments)
    yield from wrong_options(tuning.extra_module_options)


def _is_server(text: str) -> bool:
    if not re.fullmatch(r"[0-9.]+|.*:.*", text):
        return _HOST.fullmatch(text) is not None
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _counts(tuning: Tuning) -> Iterator[str]:
    for name, pages in (
        ("hugepages_1gi_per_numa_node", tuning.hugepages_1gi_per_numa_node),
        ("hugepages_2mi_per_numa_node", tuning.hugepages_2mi_per_numa_node),
    ):
        if pages < 0:
            yield f"tuning.{name}: {pages} is negative; allowed is 0 or more"
    group = tuning.hugetlb_shm_group
    if group is not None and not 0 < group <= _MAX_GROUP:
        yield f"tuning.hugetlb_shm_group: {group} is no group; allowed is 1 to {_MAX_GROUP}"
    if group and not (tuning.hugepages_1gi_per_numa_node or tuning.hugepages_2mi_per_numa_node):
        yield f"tuning.hugetlb_shm_group: group {group} has no huge pages to share; reserve some"
    speed = tuning.background_io_mib_per_s
    if speed is not None and not 1 <= speed <= _LARGEST_IO_MIB_PER_S:
        yield (
            f"tuning.background_io_mib_per_s: {speed} is no speed; allowed is 1 to "
            f"{_LARGEST_IO_MIB_PER_S}"
        )


def _nodes(hardware: Hardware, tuning: Tuning, reserved_mib: tuple[int, ...]) -> Iterator[str]:
    wanted = tuning.housekeeping_cores_per_numa_node
    gib, mib2 = tuning.hugepages_1gi_per_numa_node, tuning.hugepages_2mi_per_numa_node
    for node, kept_mib in zip(hardware.numa_nodes, reserved_mib, strict=True):
        cores = node.cores()
        if not 1 <= wanted < len(cores):
            yield (
                f"tuning.housekeeping_cores_per_numa_node: {wanted} of the {len(cores)} cores of "
                f"NUMA node {node.id} of {hardware.name}; allowed is 1 to {len(cores) - 1}, so "
                "that the system and the workload each have a core"
            )
        # a tenth stays with the kernel (page structures, buffers) and with pods of ordinary pages
        allowed_mib = node.memory_gib * _MIB_PER_GIB * 9 // 10 - kept_mib
        wanted_mib = gib * _MIB_PER_GIB + mib2 * 2
        if wanted_mib > max(allowed_mib, 0):
            yield (
                f"{_hugepage_keys(gib, mib2)}: {gib} pages of 1 GiB and {mib2} of 2 MiB take "
                f"{wanted_mib} MiB of NUMA node {node.id} of {hardware.name}; allowed are "
                f"{max(allowed_mib, 0)} MiB of its {node.memory_gib} GiB, after the reservations "
                "and a tenth for ordinary pages"
            )


def _hugepage_keys(gib: int, mib2: int) -> str:
    """The keys of the tuning that reserve huge pages."""
    sizes = {"1gi": gib, "2mi": mib2}
    keys = [f"hugepages_{size}_per_numa_node" for size, pages in sizes.items() if pages]
    return f"tuning.{' and '.join(keys)}"


def _gpus(hardware: Hardware, tuning: Tuning) -> Iterator[str]:
    largest = tuning.largest_pod_gpus
    if largest is not None and not hardware.gpus:
        yield f"tuning.largest_pod_gpus: {largest}, but {hardware.name} has no GPU; leave it out"
    elif largest is not None and not 1 <= largest <= hardware.gpu_count:
        yield (
            f"tuning.largest_pod_gpus: {largest} of the {hardware.gpu_count} GPUs of "
            f"{hardware.name}; allowed is 1 to {hardware.gpu_count}"
        )
    if tuning.extra_module_options and not hardware.gpus:
        yield f"tuning.extra_module_options: {hardware.name} has no GPU; leave them out"


def _bare_metal(hardware: Hardware, tuning: Tuning) -> Iterator[str]:
    for name, value, default in (
        ("iommu", tuning.iommu, "passthrough"),
        ("power", tuning.power, "default"),
    ):
        if value in (default, None):
            continue
        if hardware.virtual:
            yield (
                f"tuning.{name}: {value}, but {hardware.name} is a guest, whose host decides it; "
                f"allowed is {default}"
            )
        elif hardware.arch != "amd64":
            yield f"tuning.{name}: {value} is for amd64 alone; allowed is {default}"


def _scheduling(tuning: Tuning, purpose: Purpose) -> Iterator[str]:
    for position, argument in enumerate(tuning.extra_kernel_arguments):
        if purpose == "realtime" and argument.partition("=")[0] in REALTIME:
            yield (
                f"tuning.extra_kernel_arguments[{position}]: {argument} is refused: the plan of "
                "purpose realtime sets it"
            )
    if tuning.isolation == "exclusive":
        if purpose != "realtime":
            yield (
                f"tuning.isolation: exclusive for purpose {purpose}: the kernel spreads no threads "
                "over isolated CPUs, so that all threads of a pod run on one of its CPUs unless "
                "the program pins each (https://github.com/kubernetes/kubernetes/issues/96091); "
                "allowed is shared, or purpose realtime"
            )
        if tuning.irq == "numa-local":
            yield (
                "tuning.irq: numa-local brings interrupts to the CPUs that isolation exclusive "
                "keeps free of them; allowed is housekeeping"
            )
    elif tuning.realtime:
        yield (
            "tuning.realtime: a real-time thread would starve the pods beside it; it needs "
            "tuning.isolation: exclusive and purpose: realtime"
        )
