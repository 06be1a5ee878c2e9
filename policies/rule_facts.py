"""What an environment says elsewhere and rules ask for: its budget, and facts of its pools."""

from collections.abc import Mapping

from policies.pools import PoolFacts, rule_settings
from policies.rules.cost import capacity_block as cost_capacity_block
from policies.rules.cost import daily_budget as cost_daily_budget
from policies.rules.idle import fraction as idle_fraction
from policies.rules.idle import gang_fits as idle_gang_fits
from policies.rules.idle import notebooks as idle_notebooks
from policies.rules.idle import spot as idle_spot
from settings.pools import AwsPool
from settings.resolved import ResolvedPool
from settings.types import Settings, Versions
from settings.versions import NVIDIA_DRIVER

RuleSettings = Mapping[str, Mapping[str, object]]


def with_facts(said: RuleSettings, settings: Settings) -> dict[str, Mapping[str, object]]:
    """The settings of rules with those facts; what is said of a rule goes before them."""
    pools = settings.pools.values()
    shared = [pool.name for pool in pools if pool.sharing and pool.sharing.mode != "whole"]
    aws = {pool.name: pool.declared for pool in pools if isinstance(pool.declared, AwsPool)}
    spot = [name for name, pool in aws.items() if "spot" in pool.gpu_limits]
    known = {pool.name: _pool_facts(pool, settings.versions) for pool in pools}
    facts: dict[str, dict[str, object]] = {
        **{rule: {**found} for rule, found in rule_settings(known).items()},
        cost_daily_budget.ID: {"usd_per_day": settings.budget.usd_per_day},
        **({idle_spot.ID: {"spot_pools": spot}} if spot else {}),
    }
    queues = [
        f"{name} {queue.gpus}"
        for team in settings.teams.values()
        for name, queue in team.queues.items()
    ]
    ends = [f"{name} {pool.reserved_until}" for name, pool in aws.items() if pool.reserved_until]
    if ends:
        facts[cost_capacity_block.ID] = {"ends": ends}
    if queues:
        facts[idle_gang_fits.ID] = {"queues": queues}
    if shared:
        facts |= {rule.ID: {"shared_pools": shared} for rule in (idle_fraction, idle_notebooks)}
    return {rule: {**facts.get(rule, {}), **said.get(rule, {})} for rule in {**said, **facts}}


def _pool_facts(pool: ResolvedPool, versions: Versions) -> PoolFacts:
    layout = (pool.sharing and pool.sharing.mig_layout) or {}
    return PoolFacts(
        hardware=pool.hardware,
        plan=pool.plan,
        copies=0 if layout else (pool.sharing and pool.sharing.replicas) or 1,
        mig_profiles=tuple(layout),
        efa_driver=versions.efa is not None,
        nvidia_driver=versions.nvidia_driver or NVIDIA_DRIVER,
    )
