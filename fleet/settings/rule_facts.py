"""What an environment says elsewhere and rules ask for: its budget, and facts of its pools."""

from collections.abc import Mapping

from fleet.settings.pools import AwsPool, BareMetalPool, Pool
from fleet.settings.types import Budget
from policies.rules import cost_daily_budget, idle_fraction, idle_notebooks, idle_spot

RuleSettings = Mapping[str, Mapping[str, object]]


def with_facts(
    said: RuleSettings, budget: Budget, pools: Mapping[str, Pool]
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
    facts: dict[str, dict[str, object]] = {
        cost_daily_budget.ID: {"usd_per_day": budget.usd_per_day},
        **({idle_spot.ID: {"spot_pools": spot}} if spot else {}),
    }
    if shared:
        facts |= {rule.ID: {"shared_pools": shared} for rule in (idle_fraction, idle_notebooks)}
    return {rule: {**facts.get(rule, {}), **said.get(rule, {})} for rule in {**said, **facts}}
