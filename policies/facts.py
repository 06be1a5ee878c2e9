"""Derives what rules read of an environment: its budget, and the facts of its pools."""

from collections.abc import Iterator, Mapping
from math import ceil

from ignition.shapes.node_of_plan import from_plan
from policies.language.cuda import architectures, newest_cuda
from policies.language.facts import KEY, Facts, Pool, Queue, Shape
from policies.rules.cost import daily_budget
from settings import types
from settings.drivers import driver
from settings.pools import AwsPoolSettings, HetznerPoolSettings
from settings.resolved import ResolvedPool
from settings.types import Settings, Versions

RuleSettings = Mapping[str, Mapping[str, object]]
_OFFERED = ("cpu", "memory", "hugepages-1Gi", "hugepages-2Mi")


def with_facts(said: RuleSettings, settings: Settings) -> dict[str, Mapping[str, object]]:
    """Return the settings of rules with the facts; what the environment says itself goes first."""
    facts: Facts = {
        "pools": [pool_facts(pool, settings.versions) for pool in settings.pools.values()],
        "queues": [
            _queue_facts(name, queue, owner, settings)
            for owner, team in settings.teams.items()
            for name, queue in team.queues.items()
        ],
        "balancers_filter": not any(
            isinstance(pool.declared, HetznerPoolSettings) for pool in settings.pools.values()
        ),
    }
    budget = {"usd_per_day": settings.budget.usd_per_day}
    known: RuleSettings = {KEY: {**facts}, daily_budget.ID: budget}
    return {key: {**known.get(key, {}), **said.get(key, {})} for key in {**said, **known}}


def _queue_facts(name: str, queue: types.Queue, team: str, settings: Settings) -> Queue:
    facts: Queue = {
        "name": name,
        "team": team,
        "gpus": queue.gpus,
        "weight": queue.weight,
        "priorities": list(queue.priorities),
    }
    if queue.pool is not None:
        facts["pool"] = queue.pool
    pools = queue.pools or (() if queue.pool is None else (queue.pool,))
    if pools and all(settings.pools[pool].rented for pool in pools):
        facts["reclaimable"] = False
    return facts


def pool_facts(pool: ResolvedPool, versions: Versions) -> Pool:
    """Return what rules know of a pool whose machines have the software of these versions."""
    declared, hardware, plan = pool.declared, pool.hardware, pool.plan
    rented = declared if isinstance(declared, AwsPoolSettings) else None
    facts: Pool = {
        "name": pool.name,
        "purpose": plan.purpose,
        "gpus": hardware.gpu_count,
        "exclusive": any(map(_isolates, plan.kernel_arguments)),
        "shares_gpus": pool.sharing is not None and pool.sharing.mode != "whole",
        "spot": rented is not None and "spot" in rented.gpu_limits,
        "rdma": "" if pool.fabric is None else pool.fabric.resource,
        "rdma_on_host": pool.fabric is not None and pool.fabric.on_host,
        "hugepages_1gi_mib": sum(node.hugepages_1gi * 1024 for node in plan.nodes),
        "hugepages_2mi_mib": sum(node.hugepages_2mi * 2 for node in plan.nodes),
        "shapes": [],
        "mig_profiles": [],
    }
    if rented and rented.reserved_until is not None:
        facts["reserved_until"] = rented.reserved_until
    if hardware.gpus:
        _add_software(facts, pool, driver(versions))
        _add_gpus(facts, pool)
    return facts


def _add_software(facts: Pool, pool: ResolvedPool, driver: str) -> None:
    """Add the architecture and driver of the GPUs, as far as they are known."""
    runs = architectures(pool.hardware.gpus[0].model)
    if runs:
        own = (each for each in reversed(runs) if each.startswith("sm_") and each[-1].isdigit())
        facts["architecture"], facts["runs"] = next(own), list(runs)
    branch = int(driver.partition("-")[0])
    facts["driver"], facts["newest_cuda"] = branch, newest_cuda(branch)


def _add_gpus(facts: Pool, pool: ResolvedPool) -> None:
    """Add what pods can ask for: MIG instances, or each GPU once or repeatedly."""
    if pool.sharing and pool.sharing.mig_layout:
        facts["mig_profiles"] = list(pool.sharing.mig_layout)
        return
    copies = (pool.sharing and pool.sharing.replicas) or 1
    facts["gpu_memory_mib"] = pool.hardware.gpus[0].memory_gib * 1024 // copies
    facts["shapes"] = list(_shapes(pool, copies))
    if copies == 1:
        facts["cpus_per_gpu"], facts["memory_mib_per_gpu"] = _share(pool)


def _isolates(argument: str) -> bool:
    """Return whether a kernel argument takes workload CPUs out of the load balancing."""
    name, _, value = argument.partition("=")
    return name == "isolcpus" and "domain" in value.split(",")


def _shapes(pool: ResolvedPool, copies: int) -> Iterator[Shape]:
    """The largest pods.

    Where a pod must be on one NUMA node, each node with GPUs is one, if no other has as much of
    everything; else, and where GPUs are handed out repeatedly, the machine is.
    """
    node = from_plan(pool.hardware, pool.plan, pool.launchable_memory_mib)
    whole = (node.gpu_count * copies, *map(node.allocatable.__getitem__, _OFFERED))
    largest = {tuple(map(int, whole))}
    if copies == 1 and node.policy == "single-numa-node":
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
    """Return whether a shape has as much of everything as another, and more of something."""
    return one != other and all(mine >= its for mine, its in zip(one, other, strict=True))


def _share(pool: ResolvedPool) -> tuple[int, int]:
    """The CPUs and MiB for each GPU of a NUMA node or of the machine, where that is most."""
    node = from_plan(pool.hardware, pool.plan, pool.launchable_memory_mib)
    cpus = [int(node.allocatable["cpu"]) / node.gpu_count]
    memory = [node.allocatable["memory"] / node.gpu_count]
    for cell in node.cells:
        if cell.gpus:
            cpus.append(len(node.free_cpus_of.get(cell.id, ())) / len(cell.gpus))
            memory.append(cell.allocatable["memory"] / len(cell.gpus))
    if node.most_memory_mib is not None:  # pods that fill a machine must be able to launch it
        return ceil(max(cpus)), ceil(min(max(memory), node.most_memory_mib / node.gpu_count))
    return ceil(max(cpus)), ceil(max(memory))
