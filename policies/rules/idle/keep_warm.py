"""Capacity that is kept for work to come must have hours, a budget and a last day.

This holds for a CapacityBuffer of Karpenter and for pods that hold GPUs and only pause. Their
annotations, of the object or of its pods, are

- `fleet.gpu/keep-warm-schedule`: when, such as `mon-fri 08:00-18:00 Europe/Berlin`;
- `fleet.gpu/keep-warm-usd-per-day`: what it may cost, a whole number up to the setting;
- `fleet.gpu/keep-warm-until`: the last day.

The sum of a stack's budgets must keep within the setting too. The API server reads one object and
has no clock: only the preview checks the sum and whether the last day is over.

The CapacityBuffers of fleet-gang-buffer are none of these: each is for a gang that waits, goes with
it, and asks for what the limits of the NodePools, and so the daily budget, allow. Nor is a
CapacityBuffer of no pods.
"""

import re
from collections.abc import Sequence
from typing import cast

from policies.language import cel
from policies.language import warm_capacity as warm
from policies.language.annotations import day, is_day, is_over, within
from policies.language.cel_forms import GPU_PODS, WITH_GPUS, Fault, of_object
from policies.language.gpu_work import counted
from policies.language.manifest import describe
from policies.language.pods import KINDS
from policies.language.rule import Manifest, Rule, Settings

ID = "idle/keep-warm"
_DAYS = "(mon|tue|wed|thu|fri|sat|sun)"
_CLOCK = "([01][0-9]|2[0-4]):[0-5][0-9]"
_SCHEDULE = re.compile(f"{_DAYS}(-{_DAYS})? {_CLOCK}-{_CLOCK}( [A-Za-z]+(/[A-Za-z_-]+)*)?")
_NO_SCHEDULE = (
    f"must say when it is kept warm by the annotation {warm.SCHEDULE}, such as mon-fri 08:00-18:00 "
    "Europe/Berlin."
)
_NO_BUDGET = f"must have the annotation {warm.USD}, a whole number of at most {{usd}}."
_NO_END = f"must say by the annotation {warm.UNTIL} its last day, such as 2027-01-31."
_OVER = f"must no longer be kept warm: its last day, by {warm.UNTIL}, was {{0}}."
_SUM = (
    "must be one of reserves that are kept warm for at most {0} USD a day; together they say {1}."
)


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns what a reserve does not say of itself."""
    if not warm.reserve(manifest):
        return []
    return [f"{describe(manifest)} {fault}" for fault in _faults(manifest, settings)]


def _faults(manifest: Manifest, settings: Settings) -> list[str]:
    declared, budget = warm.reserve_said(manifest), cast("int", settings["usd_per_day"])
    usd, end = counted(declared.get(warm.USD)), day(declared.get(warm.UNTIL))
    faults = []
    if not _SCHEDULE.fullmatch(str(declared.get(warm.SCHEDULE))):
        faults.append(_NO_SCHEDULE)
    if usd is None or usd > budget:
        faults.append(_NO_BUDGET.format(usd=budget))
    if end is None:
        faults.append(_NO_END)
    elif is_over(end, settings):
        faults.append(_OVER.format(end))
    return faults


def together(manifest: Manifest, settings: Settings, stack: Sequence[Manifest]) -> list[str]:
    """Return by how much all reserves exceed the budget; reported for the first of them."""
    if not warm.reserve(manifest):
        return []
    reserves = [each for each in stack if warm.reserve(each)]
    total = sum(counted(warm.reserve_said(each).get(warm.USD)) or 0 for each in reserves)
    budget = cast("int", settings["usd_per_day"])
    if reserves[0] is not manifest or len(reserves) == 1 or total <= budget:
        return []
    return [f"{describe(manifest)} {_SUM.format(budget, total)}"]


_BUDGET = cel.setting(ID, "usd_per_day")
_SAID = f"'%s'.format([{warm.cel_reserve_said(warm.SCHEDULE)}.orValue('')])"

RULE = Rule(
    id=ID,
    sentence="Capacity that is kept warm must have a schedule, a budget and a last day.",
    why=(
        "A warm machine saves minutes to whoever comes, and costs the whole day and night; after "
        "the launch for which it was made nobody remembers it."
    ),
    source="https://karpenter.sh/docs/concepts/nodepools/",
    schema={
        "usd_per_day": {
            "type": "integer",
            "minimum": 0,
            "maximum": 1_000_000,
            "default": 500,
            "description": "USD that a day of all that is kept warm may cost.",
        }
    },
    predicate=violations,
    across=together,
    admission=of_object(
        (*KINDS, warm.BUFFERS),
        warm.cel_reserve(f"(object.kind == 'CapacityBuffer' ? [] : {GPU_PODS})"),
        [
            Fault(
                broken=f"!{_SAID}.matches({cel.literal(f'^({_SCHEDULE.pattern})$')})",
                says=cel.literal(_NO_SCHEDULE),
            ),
            Fault(
                broken=f"!{within(warm.cel_reserve_said(warm.USD), _BUDGET)}",
                says=cel.text(_NO_BUDGET, usd=f"string({_BUDGET})"),
            ),
            Fault(
                broken=f"!{is_day(warm.cel_reserve_said(warm.UNTIL))}", says=cel.literal(_NO_END)
            ),
        ],
        WITH_GPUS,
    ),
)
