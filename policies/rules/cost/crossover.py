"""Machines that are rented all day must not cost more than owning them.

A reserved machine is paid for every hour of its reservation, used or not; so are spot and on-demand
ones where `sustained_hours_per_day` says that they run so long. Against each stands the owned
machine of the catalogue with the same GPUs, at what it is written off with, power and cooling
included. From as many hours a day as the quotient of the two prices says, owning is cheaper. What
else owning costs (space, people, capital) is in no price: the figures are advice.
"""

from functools import cache
from typing import cast

from hardware.catalogue import Hardware, HardwareError, load, names
from policies.language.inventory import HOURS_PER_DAY, Machines, machines
from policies.language.manifest import describe
from policies.language.rule import Manifest, Rule, Settings

ID = "cost/crossover"
_MUST = (
    "must cost no more than owning: {0} {1}, {2} hours a day, are {3:,.0f} USD a day, owned {4} "
    "with the same GPUs {5:,.0f}; owning is cheaper from {6:.1f} hours a day on."
)


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns the figures of a pool that rents what would be cheaper to own."""
    if manifest.get("kind") != "NodePool":
        return []
    found = machines(manifest)
    if found is None or not found.count or not found.usd_per_hour:
        return []
    owned = _owned(found.hardware)
    if owned is None:
        return []
    hours = HOURS_PER_DAY
    if found.capacity != "reserved":
        hours = cast("int", settings["sustained_hours_per_day"])
    crossover = HOURS_PER_DAY * cast("float", owned.usd_per_hour) / found.usd_per_hour
    if hours <= crossover:
        return []
    return [f"{describe(manifest)} {_told(found, owned, hours, crossover)}"]


def keys(manifest: Manifest, _settings: Settings) -> list[str]:
    """Returns the key with the machines that are rented, and the hours that they run."""
    found = machines(manifest)
    limit = "pools.{pool}.gpu_limits"
    if found is not None and found.capacity == "reserved":
        return [f"{limit}.reserved"]
    return [limit, f"policies.{ID}.sustained_hours_per_day"]


def _told(rented: Machines, owned: Hardware, hours: int, crossover: float) -> str:
    bought = rented.capacity or "on-demand"
    of = f"{rented.count:g} {bought}"
    rented_usd = (rented.usd_per_hour or 0) * hours * rented.count
    owned_usd = (owned.usd_per_hour or 0) * HOURS_PER_DAY * rented.count
    return _MUST.format(
        of, rented.hardware.name, hours, rented_usd, owned.name, owned_usd, crossover
    )


@cache
def _owned(rented: Hardware) -> Hardware | None:
    """The cheapest owned machine with the same GPUs and a price."""
    found = [
        each
        for each in map(_known, names())
        if each is not None
        and each.kind == "bare-metal"
        and each.usd_per_hour is not None
        and [gpu.model for gpu in each.gpus] == [gpu.model for gpu in rented.gpus]
    ]
    return min(found, key=lambda each: each.usd_per_hour or 0, default=None)


def _known(name: str) -> Hardware | None:
    try:
        return load(name)
    except HardwareError:  # an entry that somebody is writing is no reason to stop
        return None


RULE = Rule(
    id=ID,
    sentence="Machines that are rented all day must not cost more than owning them.",
    why=(
        "Eight H200 by reservation cost in a day what owned ones cost in two; whoever needs them "
        "every day pays for a second machine that never comes."
    ),
    source="https://aws.amazon.com/ec2/capacityblocks/pricing/",
    level="advisory",
    schema={
        "sustained_hours_per_day": {
            "type": "integer",
            "minimum": 0,
            "maximum": 24,
            "default": 0,
            "description": "Hours a day that spot and on-demand machines run; see the dashboard.",
        }
    },
    predicate=violations,
    keys=keys,
)
