"""An environment must not be able to cost more in a day than its budget.

What is counted are the machines at the prices of the hardware catalogue: owned ones at what they
are written off with, power and cooling included, rented servers at their list price, and a NodePool
as all the machines that its limit allows, at the price of its capacity type. It is the most that a
day can cost and not what it will. The first machine of the stack is told for all of them. At run
time an alert compares what the GPUs cost just now with the same budget.
"""

from collections.abc import Sequence
from typing import cast

from policies.rules.manifest import describe
from policies.rules.money import machines, usd_per_day_by_pool
from policies.rules.rule import Alert, Manifest, Rule, Settings

ID = "cost/daily-budget"


def violations(manifest: Manifest, settings: Settings, stack: Sequence[Manifest]) -> list[str]:
    """Returns by how much the machines of a stack exceed the budget, told of the first of them."""
    if machines(manifest) is None:
        return []
    first = next(each for each in stack if machines(each) is not None)
    if first is not manifest:
        return []
    budget = cast("float", settings["usd_per_day"])
    pools = usd_per_day_by_pool(stack)
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
        }
    },
    across=violations,
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
