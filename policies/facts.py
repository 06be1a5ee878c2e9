"""From the pools of an environment to the facts by which the rules know them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil

from hardware.catalogue import Hardware
from ignition.plan.numa_plan import NumaPlan
from ignition.shapes import from_plan
from policies.language.cuda import architectures, newest_cuda
from policies.language.facts import Pool, Shape

_OFFERED = ("cpu", "memory", "hugepages-1Gi", "hugepages-2Mi")


@dataclass(frozen=True, kw_only=True)
class PoolMachine:
    """A pool's machine and plan, and how often it hands out each of its GPUs.

    `copies` is 1 for whole GPUs and 0 for a pool that has instances of MIG instead, by profile in
    `mig_profiles`. `efa_driver` is whether machines of AWS have the driver of their network cards,
    `nvidia_driver` the one of the GPUs, such as 570-open. `reserved_until` is the last day of
    reserved capacity, such as 2027-01-31.
    """

    hardware: Hardware
    plan: NumaPlan
    copies: int = 1
    mig_profiles: tuple[str, ...] = ()
    shares_gpus: bool = False
    spot: bool = False
    efa_driver: bool = False
    nvidia_driver: str | None = None
    reserved_until: str | None = None


def pool_facts(pools: Mapping[str, PoolMachine]) -> list[Pool]:
    """What rules know of each pool, by its name."""
    return [_pool(name, machine) for name, machine in pools.items()]


def _pool(name: str, machine: PoolMachine) -> Pool:
    hardware, plan = machine.hardware, machine.plan
    pool: Pool = {
        "name": name,
        "purpose": plan.purpose,
        "gpus": hardware.gpu_count,
        "exclusive": any(map(_isolates, plan.kernel_arguments)),
        "shares_gpus": machine.shares_gpus,
        "spot": machine.spot,
        "rdma": bool(hardware.gpus) and _rdma(machine),
        "hugepages_1gi_mib": sum(node.hugepages_1gi * 1024 for node in plan.nodes),
        "hugepages_2mi_mib": sum(node.hugepages_2mi * 2 for node in plan.nodes),
        "shapes": [],
        "mig_profiles": list(machine.mig_profiles),
    }
    if machine.reserved_until is not None:
        pool["reserved_until"] = machine.reserved_until
    if hardware.gpus:
        _add_software(pool, machine)
    if hardware.gpus and machine.copies:
        pool["gpu_memory_mib"] = hardware.gpus[0].memory_gib * 1024 // machine.copies
        pool["shapes"] = list(_shapes(machine))
    if hardware.gpus and machine.copies == 1:
        pool["cpus_per_gpu"], pool["memory_mib_per_gpu"] = _share(machine)
    return pool


def _add_software(pool: Pool, machine: PoolMachine) -> None:
    """What images must be built for, as far as it is known of the GPU and the driver."""
    runs = architectures(machine.hardware.gpus[0].model)
    if runs:
        own = (each for each in reversed(runs) if each.startswith("sm_") and each[-1].isdigit())
        pool["architecture"], pool["runs"] = next(own), list(runs)
    if machine.nvidia_driver is not None:
        branch = int(machine.nvidia_driver.partition("-")[0])
        pool["driver"], pool["newest_cuda"] = branch, newest_cuda(branch)


def _rdma(machine: PoolMachine) -> bool:
    """Whether the machine's network cards do RDMA, with a driver for those of AWS."""
    efa = machine.efa_driver and machine.hardware.efa_interfaces > 0
    return efa or any(nic.rdma for nic in machine.hardware.nics)


def _isolates(argument: str) -> bool:
    """Whether a kernel argument takes workload CPUs out of the load balancing."""
    name, _, value = argument.partition("=")
    return name == "isolcpus" and "domain" in value.split(",")


def _shapes(machine: PoolMachine) -> Iterator[Shape]:
    """The largest pods.

    Where a pod must be on one NUMA node, each node with GPUs is one, if no other has as much of
    everything; else, and where GPUs are handed out repeatedly, the machine is.
    """
    node = from_plan(machine.hardware, machine.plan)
    whole = (node.gpu_count * machine.copies, *map(node.allocatable.__getitem__, _OFFERED))
    largest = {tuple(map(int, whole))}
    if machine.copies == 1 and node.policy == "single-numa-node":
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
    for gpus, cpus, memory, pages_1gi, pages_2mi in sorted(largest):
        yield {
            "gpus": gpus,
            "cpus": cpus,
            "cpus_in_multiples_of": node.core_group,
            "memory_mib": memory,
            "hugepages_1gi_mib": pages_1gi,
            "hugepages_2mi_mib": pages_2mi,
        }


def _exceeds(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether a shape has as much of everything as another, and more of something."""
    return one != other and all(mine >= its for mine, its in zip(one, other, strict=True))


def _share(machine: PoolMachine) -> tuple[int, int]:
    """The CPUs and MiB for each GPU of a NUMA node or of the machine, where that is most."""
    node = from_plan(machine.hardware, machine.plan)
    cpus = [int(node.allocatable["cpu"]) / node.gpu_count]
    memory = [node.allocatable["memory"] / node.gpu_count]
    for cell in node.cells:
        if cell.gpus:
            cpus.append(len(node.free_cpus_of.get(cell.id, ())) / len(cell.gpus))
            memory.append(cell.allocatable["memory"] / len(cell.gpus))
    return ceil(max(cpus)), ceil(max(memory))
