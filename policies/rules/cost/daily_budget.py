"""An environment must not be able to cost more in a day than its budget.

What is counted are the machines at the prices of the hardware catalogue: owned ones at what they
are written off with, power and cooling included, rented servers at their list price, and a NodePool
as all the machines that its limit allows, at the price of its capacity type. It is the most that a
day can cost and not what it will. The first machine of the stack is told for all of them, that of a
pool for a budget of the pool. At run time an alert compares what the GPUs cost just now with the
budget of all.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from policies.language.inventory import machines, usd_per_day_by_pool
from policies.language.manifest import describe, items
from policies.language.rule import Alert, Manifest, Rule, Settings
from policies.language.stack import once

ID = "cost/daily-budget"


def violations(manifest: Manifest, settings: Settings, stack: Sequence[Manifest]) -> list[str]:
    """Returns by how much the machines of a stack or pool exceed a budget, told of the first."""
    found = machines(manifest)
    if found is None:
        return []
    first_of = _firsts(stack)
    first, of_pool = next(iter(first_of.values())), first_of[found.pool]
    if manifest is not first and manifest is not of_pool:
        return []
    pools = usd_per_day_by_pool(stack)
    said = []
    if first is manifest:
        said += _all(manifest, pools, cast("float", settings["usd_per_day"]))
    if of_pool is manifest:
        said += _pool(manifest, found.pool, pools[found.pool], settings)
    return said


@once
def _firsts(stack: Sequence[Manifest]) -> dict[str, Manifest]:
    """The first machine of each pool; the first of all comes first."""
    first_of: dict[str, Manifest] = {}
    for each in stack:
        if found := machines(each):
            first_of.setdefault(found.pool, each)
    return first_of


def keys(_manifest: Manifest, settings: Settings) -> list[str]:
    """Returns the keys with the budget of all and, where there are any, those of single pools."""
    of_pools = [f"policies.{ID}.pools"] if items(settings["pools"]) else []
    return ["budget.usd_per_day", *of_pools]


def _pool(manifest: Manifest, pool: str, usd: float, settings: Settings) -> list[str]:
    budgets = dict(str(line).split(" ") for line in items(settings["pools"]))
    if pool not in budgets or round(usd, 2) <= float(budgets[pool]):
        return []
    most = f"must be one of machines of pool '{pool}' that cost at most {float(budgets[pool]):,.0f}"
    return [f"{describe(manifest)} {most} USD a day; they cost up to {usd:,.0f}."]


def _all(manifest: Manifest, pools: Mapping[str, float], budget: float) -> list[str]:
    total = sum(pools.values())
    if round(total, 2) <= budget:
        return []
    dearest = sorted(pools.items(), key=lambda entry: (-entry[1], entry[0]))
    shares = ", ".join(f"{pool} {usd:,.0f}" for pool, usd in dearest)
    most = f"must be one of machines that cost at most {budget:,.0f} USD a day"
    return [f"{describe(manifest)} {most}; all together cost up to {total:,.0f} ({shares})."]


RULE = Rule(
    id=ID,
    sentence="The machines of an environment must not cost more in a day than its budget.",
    why=(
        "One digit more in a limit is a machine of 40 USD an hour, and the bill shows it a month "
        "later."
    ),
    source="https://karpenter.sh/docs/concepts/nodepools/",
    schema={
        "usd_per_day": {
            "type": "number",
            "minimum": 0,
            "maximum": 10_000_000,
            "default": 5000,
            "description": "USD that a day may cost; an environment's own is gpu-fleet:budget.",
        },
        "pools": {
            "type": "array",
            "items": {"type": "string", "pattern": "^[a-z0-9-]+ [0-9]+$"},
            "default": [],
            "description": "Budgets of single pools: the name, then the USD that a day may cost.",
        },
    },
    across=violations,
    keys=keys,
    alert=Alert(
        name="FleetCostOverBudget",
        expression="sum(pool:gpu_usd_per_hour:sum) * 24 > $usd_per_day",
        lasts_minutes=60,
        severity="warning",
        summary=(
            "The GPU machines cost {{ $value | humanize }} USD a day, more than the environment's "
            "budget"
        ),
    ),
)
