"""What an environment says elsewhere and rules ask for: its budget, and facts of its pools."""

from collections.abc import Mapping

from hardware.catalogue import load
from ignition.plan.numa_plan import plan
from policies.facts import PoolMachine, pool_facts
from policies.language.facts import KEY, Facts
from policies.rules.cost import daily_budget
from settings.pools import AwsPool, BareMetalPool, Pool
from settings.types import Budget, Team, Versions
from settings.versions import NVIDIA_DRIVER

RuleSettings = Mapping[str, Mapping[str, object]]


def with_facts(
    said: RuleSettings,
    budget: Budget,
    pools: Mapping[str, Pool],
    versions: Versions,
    teams: Mapping[str, Team],
) -> dict[str, Mapping[str, object]]:
    """The settings of rules with the facts; what the environment says itself goes before them."""
    facts: Facts = {
        "pools": pool_facts({name: _machine(pool, versions) for name, pool in pools.items()}),
        "queues": [
            {"name": name, "gpus": queue.gpus}
            for team in teams.values()
            for name, queue in team.queues.items()
        ],
    }
    known: RuleSettings = {KEY: {**facts}, daily_budget.ID: {"usd_per_day": budget.usd_per_day}}
    return {key: {**known.get(key, {}), **said.get(key, {})} for key in {**said, **known}}


def _machine(pool: Pool, versions: Versions) -> PoolMachine:
    hardware = load(pool.hardware)
    rented = pool if isinstance(pool, AwsPool) else None
    sharing = pool if isinstance(pool, AwsPool | BareMetalPool) else None
    shared = sharing if hardware.gpus else None
    layout = (shared and shared.mig_layout) or {}
    return PoolMachine(
        hardware=hardware,
        plan=plan(hardware, pool.tuning, pool.purpose),
        copies=0 if layout else (shared and shared.replicas) or 1,
        mig_profiles=tuple(layout),
        shares_gpus=sharing is not None and sharing.sharing != "whole",
        spot=rented is not None and "spot" in rented.gpu_limits,
        efa_driver=versions.efa is not None,
        nvidia_driver=versions.nvidia_driver or NVIDIA_DRIVER,
        reserved_until=rented and rented.reserved_until,
    )
