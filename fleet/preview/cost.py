"""Computes the cost of the pools before and after, at the prices of the hardware catalogue."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fleet.preview.pools import Pool, PoolChange
from fleet.preview.steps import Inputs, Step
from hardware.catalogue import Hardware, HardwareError, load
from policies.language.inventory import Machines
from settings.names import SERVER

HOURS_PER_DAY = 24
HOURS_PER_MONTH = 730


@dataclass(frozen=True, kw_only=True)
class Span:
    """USD per hour before and after."""

    before: float
    after: float

    @property
    def change(self) -> float:
        """The difference in USD per hour."""
        return self.after - self.before


@dataclass(frozen=True, kw_only=True)
class Cost:
    """`fixed` is the cost of what always runs, `burst` the most that Karpenter may add to it."""

    fixed: Span
    burst: Span
    unverified: tuple[str, ...]  # hardware whose price nobody has confirmed
    without_price: tuple[str, ...]  # hardware that is not in the sums
    doubts: tuple[str, ...]  # hardware with its unverified facts, in words


def cost(changes: Sequence[PoolChange], steps: Iterable[Step] = ()) -> Cost:
    """Returns the cost of all pools and of other servers, such as gateways between sites.

    Unchanged machines count on both sides.
    """
    told = {step.urn for change in changes for step in change.steps}
    alone = [step for step in steps if step.type == SERVER and step.urn not in told]
    before = [change.before for change in changes if change.before]
    before += [_server(step.old) for step in alone if step.old]
    after = [change.after for change in changes if change.after]
    after += [_server(step.new) for step in alone if step.new]
    used = {pool.hardware: _hardware(pool) for pool in (*before, *after)}
    prices = {name: hardware.usd_per_hour if hardware else None for name, hardware in used.items()}
    return Cost(
        fixed=Span(before=sum(map(_fixed, before)), after=sum(map(_fixed, after))),
        burst=Span(before=sum(map(_burst, before)), after=sum(map(_burst, after))),
        unverified=tuple(
            sorted(
                name
                for name, hardware in used.items()
                if hardware and prices[name] is not None and not hardware.price.verified
            )
        ),
        without_price=tuple(sorted(name for name, price in prices.items() if price is None)),
        doubts=tuple(
            f"{name} ({', '.join(hardware.doubts)})"
            for name, hardware in sorted(used.items())
            if hardware and hardware.doubts
        ),
    )


def _server(inputs: Inputs) -> Pool:
    """Returns a pool with this server alone."""
    hardware = str(inputs.get("serverType"))
    return Pool(hardware=hardware, purpose="", site="", ignition="", machines=("server",))


def _hardware(pool: Pool) -> Hardware | None:
    """Returns the catalogue's entry; None if it was removed since the machine was deployed."""
    try:
        return load(pool.hardware)
    except HardwareError:
        return None


def _usd_per_hour(pool: Pool) -> float:
    hardware = _hardware(pool)
    return (hardware.usd_per_hour if hardware else None) or 0.0


def _fixed(pool: Pool) -> float:
    return len(pool.machines) * _usd_per_hour(pool)


def _burst(pool: Pool) -> float:
    """Returns the cost at the price of each capacity type, as the budget rules compute it."""
    hardware = _hardware(pool)
    if hardware is None or not hardware.gpu_count:
        return 0.0
    rented = (
        Machines(pool="", hardware=hardware, count=gpus / hardware.gpu_count, capacity=capacity)
        for capacity, gpus in pool.limits.items()
    )
    return sum(each.usd_per_day for each in rented) / HOURS_PER_DAY
