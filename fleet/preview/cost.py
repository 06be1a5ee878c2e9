"""Computes the cost of the pools before and after, at the prices of the hardware catalogue."""

from collections.abc import Iterable, Iterator, Sequence
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
    servers = alone(changes, steps)
    before = [change.before for change in changes if change.before]
    before += [server(step.old) for step in servers if step.old]
    after = [change.after for change in changes if change.after]
    after += [server(step.new) for step in servers if step.new]
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


def machines(pool: Pool) -> tuple[Machines, ...]:
    """Returns the machines of a pool: those that always run, or the most of each capacity type.

    None of them where the hardware left the catalogue since it was deployed.
    """
    hardware = _hardware(pool)
    if hardware is None:
        return ()
    always = Machines(pool="", hardware=hardware, count=len(pool.machines))
    if not hardware.gpu_count:
        return (always,) if pool.machines else ()
    rented = (
        Machines(pool="", hardware=hardware, count=gpus / hardware.gpu_count, capacity=capacity)
        for capacity, gpus in pool.limits.items()
    )
    return (always, *rented) if pool.machines else (*rented,)


def usd_per_day(pool: Pool | None) -> float:
    """Returns what a day of a pool costs, at most; 0 for none."""
    return 0.0 if pool is None else sum(each.usd_per_day for each in machines(pool))


def budget(found: Cost, usd: float) -> str:
    """Says the budget, and whether everything running at once would cost more."""
    after = (found.fixed.after + found.burst.after) * HOURS_PER_DAY
    said = f"Budget {usd:,.0f} USD a day"
    over = f", but everything running at once would cost {after:,.0f}"
    return said + over if after > usd else said


def uncertain(found: Cost) -> Iterator[str]:
    """Yields what makes the sums uncertain."""
    if found.unverified:
        yield f"price not verified: {', '.join(found.unverified)}"
    if found.without_price:
        yield f"no price known, not in the sums: {', '.join(found.without_price)}"


def server(inputs: Inputs) -> Pool:
    """Returns a pool with this server alone."""
    hardware = str(inputs.get("serverType"))
    return Pool(hardware=hardware, purpose="", site="", ignition="", machines=("server",))


def alone(changes: Sequence[PoolChange], steps: Iterable[Step]) -> list[Step]:
    """Returns the servers that are of no pool, such as gateways between sites."""
    told = {step.urn for change in changes for step in change.steps}
    return [step for step in steps if step.type == SERVER and step.urn not in told]


def _hardware(pool: Pool) -> Hardware | None:
    """Returns the catalogue's entry; None if it was removed since the machine was deployed."""
    try:
        return load(pool.hardware)
    except HardwareError:
        return None


def _fixed(pool: Pool) -> float:
    return sum(each.usd_per_day for each in machines(pool) if each.capacity is None) / HOURS_PER_DAY


def _burst(pool: Pool) -> float:
    """Returns the cost at the price of each capacity type, as the budget rules compute it."""
    return sum(each.usd_per_day for each in machines(pool) if each.capacity) / HOURS_PER_DAY
