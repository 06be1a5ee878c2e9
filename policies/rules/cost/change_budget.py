"""One change must not make an environment cost much more in a day than before.

What is counted is what `cost/daily-budget` counts, before and after: `make preview` reads what is
deployed from the state of the stack and writes it as `usd_per_day_before`. Where that is not known,
as at the first deployment and during `up`, nothing is judged: a preview went before.
"""

from collections.abc import Sequence
from typing import cast

from policies.language.inventory import machines, usd_per_day_by_pool
from policies.language.manifest import describe
from policies.language.rule import Manifest, Rule, Settings
from policies.language.stack import once

ID = "cost/change-budget"
NOT_KNOWN = -1
_MUST = (
    "must be one of machines that cost at most {0:,.0f} USD a day more than before; they cost up "
    "to {1:,.0f}, which is {2:,.0f} more."
)


def violations(manifest: Manifest, settings: Settings, stack: Sequence[Manifest]) -> list[str]:
    """Returns how much more the machines of a stack cost than before, told of the first of them."""
    before = cast("float", settings["usd_per_day_before"])
    if before < 0 or machines(manifest) is None:
        return []
    if _first(stack) is not manifest:
        return []
    after = sum(usd_per_day_by_pool(stack).values())
    more, budget = after - before, cast("float", settings["usd_per_day"])
    if round(more, 2) <= budget:
        return []
    return [f"{describe(manifest)} {_MUST.format(budget, after, more)}"]


@once
def _first(stack: Sequence[Manifest]) -> Manifest:
    return next(each for each in stack if machines(each))


RULE = Rule(
    id=ID,
    sentence="One change must not make an environment cost much more in a day than before.",
    why=(
        "A budget for all of the environment has room for one digit too many in a limit; whoever "
        "reviews a change of a line does not see that it is a million a year."
    ),
    source="https://karpenter.sh/docs/concepts/nodepools/",
    schema={
        "usd_per_day": {
            "type": "number",
            "minimum": 0,
            "maximum": 10_000_000,
            "default": 5000,
            "description": "USD that a day may cost more after one change.",
        },
        "usd_per_day_before": {
            "type": "number",
            "minimum": NOT_KNOWN,
            "maximum": 10_000_000,
            "default": NOT_KNOWN,
            "description": "USD a day before it, written by `make preview`; -1: not known.",
        },
    },
    across=violations,
)
