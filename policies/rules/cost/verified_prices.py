"""What machines cost must be a price that somebody has confirmed.

Every price of the hardware catalogue says whether it was read from a source; an amortised one holds
assumptions on purchase, power and cooling until its owner writes in the contract. A machine without
any price, or that is in no catalogue, is in no sum at all. Told once for each kind of machine.
"""

from collections.abc import Sequence

from hardware.catalogue import Hardware, HardwareError, load
from policies.language.inventory import capacity_of, hardware_names
from policies.language.manifest import describe
from policies.language.rule import Manifest, Rule, Settings
from policies.language.stack import once

_UNKNOWN = "must be a machine of the hardware catalogue, to be counted in any sum; it is {0}."
_NO_PRICE = "must have a price in hardware/{0}.yaml for {1}, to be counted in any sum."
_UNVERIFIED = (
    "must have a verified price in hardware/{0}.yaml; that of {1} is of {2} and not verified."
)


def violations(manifest: Manifest, _settings: Settings, stack: Sequence[Manifest]) -> list[str]:
    """Returns what is not sure of the price of a machine, told of the first of its kind."""
    capacity = capacity_of(manifest)
    doubts = [
        _doubt(name, capacity)
        for name in hardware_names(manifest)
        if _firsts(stack)[name, capacity] is manifest
    ]
    return [f"{describe(manifest)} {doubt}" for doubt in doubts if doubt]


@once
def _firsts(stack: Sequence[Manifest]) -> dict[tuple[str, str | None], Manifest]:
    """The first machine of each kind and capacity."""
    first_of: dict[tuple[str, str | None], Manifest] = {}
    for each in stack:
        for name in hardware_names(each):
            first_of.setdefault((name, capacity_of(each)), each)
    return first_of


def _doubt(name: str, capacity: str | None) -> str | None:
    try:
        hardware = load(name)
    except HardwareError:
        return _UNKNOWN.format(name)
    bought = capacity or ("owned" if hardware.kind == "bare-metal" else "on-demand")
    if _price(hardware, bought) is None:
        return _NO_PRICE.format(name, _WORDS[bought])
    if not hardware.price.verified:
        return _UNVERIFIED.format(name, _WORDS[bought], hardware.price.date)
    return None


_WORDS = {
    "owned": "an owned machine",
    "on-demand": "machines on demand",
    "reserved": "reserved machines",
    "spot": "spot machines",
}


def _price(hardware: Hardware, bought: str) -> float | None:
    price = hardware.price
    prices = {
        "owned": price.amortised_per_hour,
        "on-demand": price.on_demand_per_hour,
        "reserved": price.reserved_per_hour,
        "spot": price.spot_per_hour,
    }
    return prices[bought]


RULE = Rule(
    id="cost/verified-prices",
    sentence="What machines cost must be a price that somebody has confirmed.",
    why=(
        "A budget that is kept by a guessed price is not kept; where no price is known the nearest "
        "one stands in, or the machine costs nothing on paper."
    ),
    source="https://aws.amazon.com/ec2/capacityblocks/pricing/",
    level="advisory",
    across=violations,
)
