"""Computes what each pool costs, of the resources and by the formula of the cost rules."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fleet.diff.comparison import registered
from fleet.diff.registered import steps_between
from fleet.preview.cost import HOURS_PER_DAY, HOURS_PER_MONTH, Cost, alone, cost, machines, server
from fleet.preview.pools import Pool, pools
from policies.environment import Environment
from policies.language.inventory import Machines
from policies.verdicts import as_json


@dataclass(frozen=True, kw_only=True)
class Line:
    """Machines of one kind in a pool, before and after. `at_most`: they come and go."""

    pool: str
    hardware: str
    capacity: str | None
    at_most: bool
    count: tuple[float, float]
    usd_per_machine_hour: float | None
    price_source: str
    price_date: str
    price_verified: bool

    def usd(self, hours: float) -> tuple[float, float]:
        """What all of them cost in so many hours, before and after."""
        before, after = (each * (self.usd_per_machine_hour or 0) * hours for each in self.count)
        return before, after


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What an environment costs, before and after other settings; the same twice without any."""

    environment: str
    lines: tuple[Line, ...]
    cost: Cost
    budget_usd_per_day: float

    def as_json(self) -> dict[str, object]:
        """The same as plain data, with the sums."""
        spans = {"hour": 1, "day": HOURS_PER_DAY, "month": HOURS_PER_MONTH}
        said = as_json(self)
        for line, told in zip(self.lines, said["lines"], strict=True):
            told |= {f"usd_per_{name}": _rounded(line.usd(hours)) for name, hours in spans.items()}
        for kind, span in (("fixed", self.cost.fixed), ("burst", self.cost.burst)):
            sums = (span.before, span.after)
            said["cost"][kind] = {
                f"usd_per_{name}": _rounded(each * hours for each in sums)
                for name, hours in spans.items()
            }
        return said


def costs(before: Environment, after: Environment) -> Costs:
    """Return what an environment costs with two settings; with the same twice for one.

    Raises SettingsError where the program refuses one.
    """
    made = registered(after)
    found = steps_between(made if before is after else registered(before), made)
    changes = pools(found)
    titles = {pool.name: pool.title for pool in after.settings.pools.values()}
    lines = [
        line
        for change in changes
        for line in _lines(titles.get(change.name, change.name), change.before, change.after)
    ]
    for step in alone(changes, found.values()):
        sides = (server(inputs) if inputs else None for inputs in (step.old, step.new))
        lines += _lines(step.name, *sides)
    return Costs(
        environment=after.settings.environment,
        lines=tuple(lines),
        cost=cost(changes, found.values()),
        budget_usd_per_day=after.settings.budget.usd_per_day,
    )


def _lines(title: str, before: Pool | None, after: Pool | None) -> Iterator[Line]:
    sides = [_by_kind(machines(pool) if pool else ()) for pool in (before, after)]
    for kind in dict.fromkeys([*sides[0], *sides[1]]):
        of_kind = [side.get(kind) for side in sides]
        one = next(each for each in reversed(of_kind) if each is not None)
        counts = [0.0 if each is None else each.count for each in of_kind]
        yield Line(
            pool=title,
            hardware=one.hardware.name,
            capacity=one.capacity,
            at_most=one.capacity is not None,
            count=(counts[0], counts[1]),
            usd_per_machine_hour=one.usd_per_hour,
            price_source=one.hardware.price.source,
            price_date=one.hardware.price.date,
            price_verified=one.hardware.price.verified,
        )


def _by_kind(found: Iterable[Machines]) -> dict[tuple[str, str | None], Machines]:
    return {(each.hardware.name, each.capacity): each for each in found}


def _rounded(amounts: Iterable[float]) -> list[float]:
    return [round(amount, 2) for amount in amounts]
