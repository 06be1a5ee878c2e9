"""What an environment says elsewhere and rules ask for: its budget, and facts of its pools."""

from collections.abc import Mapping

from hardware.catalogue import load
from ignition.plan.numa_plan import plan
from policies.pools import PoolFacts, rule_settings
from policies.rules.cost import capacity_block as cost_capacity_block
from policies.rules.cost import daily_budget as cost_daily_budget
from policies.rules.idle import fraction as idle_fraction
from policies.rules.idle import gang_fits as idle_gang_fits
from policies.rules.idle import notebooks as idle_notebooks
from policies.rules.idle import spot as idle_spot
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
    """The settings of rules with those facts; what is said of a rule goes before them."""
    shared = [
        name
        for name, pool in pools.items()
        if isinstance(pool, AwsPool | BareMetalPool) and pool.sharing != "whole"
    ]
    spot = [
        name
        for name, pool in pools.items()
        if isinstance(pool, AwsPool) and "spot" in pool.gpu_limits
    ]
    known = {name: _pool_facts(pool, versions) for name, pool in pools.items()}
    facts: dict[str, dict[str, object]] = {
        **{rule: {**settings} for rule, settings in rule_settings(known).items()},
        cost_daily_budget.ID: {"usd_per_day": budget.usd_per_day},
        **({idle_spot.ID: {"spot_pools": spot}} if spot else {}),
    }
    queues = [
        f"{name} {queue.gpus}" for team in teams.values() for name, queue in team.queues.items()
    ]
    ends = [
        f"{name} {pool.reserved_until}"
        for name, pool in pools.items()
        if isinstance(pool, AwsPool) and pool.reserved_until is not None
    ]
    if ends:
        facts[cost_capacity_block.ID] = {"ends": ends}
    if queues:
        facts[idle_gang_fits.ID] = {"queues": queues}
    if shared:
        facts |= {rule.ID: {"shared_pools": shared} for rule in (idle_fraction, idle_notebooks)}
    return {rule: {**facts.get(rule, {}), **said.get(rule, {})} for rule in {**said, **facts}}


def _pool_facts(pool: Pool, versions: Versions) -> PoolFacts:
    hardware = load(pool.hardware)
    shared = pool if isinstance(pool, AwsPool | BareMetalPool) and hardware.gpus else None
    layout = (shared and shared.mig_layout) or {}
    return PoolFacts(
        hardware=hardware,
        plan=plan(hardware, pool.tuning, pool.purpose),
        copies=0 if layout else (shared and shared.replicas) or 1,
        mig_profiles=tuple(layout),
        efa_driver=versions.efa is not None,
        nvidia_driver=versions.nvidia_driver or NVIDIA_DRIVER,
    )
