"""From the pools of an environment to the settings by which the rules know them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil

from hardware.catalogue import Hardware
from ignition.plan.numa_plan import NumaPlan
from ignition.shapes import from_plan
from policies.language.cuda import architectures, newest_cuda

_NO_GPUS = "0 0 0 1 0 0"
"""The shape of a pool that hands out no whole GPUs."""

_OFFERED = ("cpu", "memory", "hugepages-1Gi", "hugepages-2Mi")


@dataclass(frozen=True, kw_only=True)
class PoolFacts:
    """A pool's machine and plan, and how often it hands out each of its GPUs.

    `copies` is 1 for whole GPUs and 0 for a pool that has instances of MIG instead, by profile in
    `mig_profiles`. `efa_driver` is whether machines of AWS have the driver of
    their network cards, `nvidia_driver` the one of the GPUs, such as 570-open.
    """

    hardware: Hardware
    plan: NumaPlan
    copies: int = 1
    mig_profiles: tuple[str, ...] = ()
    efa_driver: bool = False
    nvidia_driver: str | None = None


def rule_settings(pools: Mapping[str, PoolFacts]) -> dict[str, dict[str, list[str]]]:
    """The setting `pools` of every rule that has one, by rule id."""
    lines: dict[str, list[str]] = {
        "numa/admissible-shape": [],
        "numa/share": [],
        "numa/hugepages": [],
        "numa/pod-purpose": [],
        "numa/exclusive-pods": [],
        "numa/memory-limit": [],
        "numa/mig-profile": [],
        "numa/gpudirect": [],
        "numa/gpu-memory": [],
        "numa/image-architectures": [],
        "numa/cuda-version": [],
    }
    for name, pool in pools.items():
        for rule, line in _lines(pool):
            lines[rule].append(f"{name} {line}".rstrip())
    return {rule: {"pools": found} for rule, found in lines.items()}


def _lines(pool: PoolFacts) -> Iterator[tuple[str, str]]:
    gib, mib = (
        sum(node.hugepages_1gi * 1024 for node in pool.plan.nodes),
        sum(node.hugepages_2mi * 2 for node in pool.plan.nodes),
    )
    yield "numa/hugepages", f"{gib} {mib}"
    yield "numa/pod-purpose", pool.plan.purpose
    if any(_isolates(argument) for argument in pool.plan.kernel_arguments):
        yield "numa/exclusive-pods", ""
    if not pool.hardware.gpus:
        yield "numa/admissible-shape", _NO_GPUS
        return
    yield "numa/memory-limit", ""
    yield "numa/mig-profile", " ".join(pool.mig_profiles)
    yield "numa/gpudirect", "rdma" if _rdma(pool) else "none"
    yield from _software(pool)
    if pool.copies:
        yield "numa/gpu-memory", str(pool.hardware.gpus[0].memory_gib * 1024 // pool.copies)
    for shape in _shapes(pool) if pool.copies else (_NO_GPUS,):
        yield "numa/admissible-shape", shape
    if pool.copies == 1:
        yield "numa/share", _share(pool)


def _software(pool: PoolFacts) -> Iterator[tuple[str, str]]:
    """What images must be built for, as far as anybody knows it of the GPU and the driver."""
    runs = architectures(pool.hardware.gpus[0].model)
    if runs:
        own = next(each for each in reversed(runs) if each.startswith("sm_") and each[-1].isdigit())
        yield "numa/image-architectures", " ".join((own, *runs))
    if pool.nvidia_driver is not None:
        branch = pool.nvidia_driver.partition("-")[0]
        yield "numa/cuda-version", f"{branch} {newest_cuda(int(branch))}"


def _rdma(pool: PoolFacts) -> bool:
    """Whether the machine's network cards do RDMA, with a driver for those of AWS."""
    efa = pool.efa_driver and pool.hardware.efa_interfaces > 0
    return efa or any(nic.rdma for nic in pool.hardware.nics)


def _isolates(argument: str) -> bool:
    """Whether a kernel argument takes workload CPUs out of the load balancing."""
    name, _, value = argument.partition("=")
    return name == "isolcpus" and "domain" in value.split(",")


def _shapes(pool: PoolFacts) -> Iterator[str]:
    """The largest pods: GPUs, CPUs, MiB of memory, the CPUs given out together, MiB of huge pages.

    Where a pod must be on one NUMA node, each node with GPUs is one, if no other has as much of
    everything; else, and where GPUs are handed out repeatedly, the machine is. What is reserved for
    huge pages is no memory.
    """
    node = from_plan(pool.hardware, pool.plan)
    machine = (node.gpu_count * pool.copies, *map(node.allocatable.__getitem__, _OFFERED))
    largest = {tuple(map(int, machine))}
    if pool.copies == 1 and node.policy == "single-numa-node":
        cells = [
            (
                len(cell.gpus),
                len(node.free_cpus_of.get(cell.id, ())),
                *map(cell.allocatable.__getitem__, _OFFERED[1:]),
            )
            for cell in node.cells
            if cell.gpus
        ]
        largest = {each for each in cells if not any(_exceeds(other, each) for other in cells)}
    for gpus, cpus, memory, gib, mib in sorted(largest):
        yield f"{gpus} {cpus} {memory} {node.core_group} {gib} {mib}"


def _exceeds(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether a shape has as much of everything as another, and more of something."""
    return one != other and all(mine >= its for mine, its in zip(one, other, strict=True))


def _share(pool: PoolFacts) -> str:
    """What a NUMA node or the whole machine has for each of its GPUs, where that is most."""
    node = from_plan(pool.hardware, pool.plan)
    cpus = [int(node.allocatable["cpu"]) / node.gpu_count]
    memory = [node.allocatable["memory"] / node.gpu_count]
    for cell in node.cells:
        if cell.gpus:
            cpus.append(len(node.free_cpus_of.get(cell.id, ())) / len(cell.gpus))
            memory.append(cell.allocatable["memory"] / len(cell.gpus))
    return f"{ceil(max(cpus))} {ceil(max(memory))}"
