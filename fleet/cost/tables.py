"""Shows costs on a terminal: pools with prices, sums, the budget, where prices are from."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from engine.console import behind
from engine.tables import Widest, table
from fleet.cost.costs import Costs, Line
from fleet.preview.cost import HOURS_PER_DAY, HOURS_PER_MONTH, Span, budget, uncertain
from rehearsal.digest import TIMES

SPANS = {"hour": 1, "day": HOURS_PER_DAY, "month": HOURS_PER_MONTH}
UNKNOWN = "unknown"


def render(found: Costs) -> Group:
    """Returns all of it."""
    return Group(*_parts(found))


def _parts(found: Costs) -> Iterator[RenderableType]:
    yield Text(headline(found), style="bold")
    yield Text()
    yield Widest([_pools(found, "hour", "day", "month"), _pools(found, "day")])
    yield Text()
    fixed, burst = found.cost.fixed, found.cost.burst
    yield behind(" ", "", Text(f"Always on: {_sums(fixed)}."))
    if burst.before or burst.after:
        yield behind(" ", "", Text(f"Bursts: 0 to {_sums(burst)}."))
    yield behind(" ", "", Text(f"{budget(found.cost, found.budget_usd_per_day)}."))
    for sentence in uncertain(found.cost):
        yield behind("!", "yellow", Text(f"{sentence}."))
    yield Text()
    yield from _prices(found)


def headline(found: Costs) -> str:
    """Returns the verdict: what a day costs at least and at most."""
    fixed, burst = found.cost.fixed, found.cost.burst
    least = (fixed.before * HOURS_PER_DAY, fixed.after * HOURS_PER_DAY)
    most = tuple(
        (one + other) * HOURS_PER_DAY
        for one, other in ((fixed.before, burst.before), (fixed.after, burst.after))
    )
    told = f"{found.environment} costs {_pair(*least)} USD a day"
    if burst.before or burst.after:
        told += f", up to {_pair(*most)} with all that comes and goes"
    return f"{told}."


def _pools(found: Costs, *spans: str) -> Table:
    titles = ("Pool", "Machines", "USD/h each", *(f"USD/{span}" for span in spans))
    made = table(*titles, right=titles[2:], whole=("Pool",))
    for line in found.lines:
        price = line.usd_per_machine_hour
        made.add_row(
            line.pool,
            _machines(line),
            UNKNOWN if price is None else f"{price:,.2f}{'' if line.price_verified else ' ?'}",
            *(_usd(line, SPANS[span]) for span in spans),
        )
    return made


def _machines(line: Line) -> str:
    before, after = (f"{count:g}" for count in line.count)
    count = after if before == after else f"{before} → {after}"
    what = line.hardware if line.capacity is None else f"{line.hardware} {line.capacity}"
    return f"{'0 to ' if line.at_most else ''}{count}{TIMES}{what}"


def _usd(line: Line, hours: float) -> str:
    if line.usd_per_machine_hour is None:
        return UNKNOWN
    return f"{'0 to ' if line.at_most else ''}{_pair(*line.usd(hours))}"


def _sums(span: Span) -> str:
    told = [f"{_pair(span.before * of, span.after * of)} USD a" for of in SPANS.values()]
    return f"{told[0]}n hour, {told[1]} day, {told[2]} month"


def _pair(before: float, after: float) -> str:
    amounts = [f"{amount:,.2f}" for amount in (before, after)]
    return amounts[1] if amounts[0] == amounts[1] else " → ".join(amounts)


def _prices(found: Costs) -> Iterator[RenderableType]:
    """Yield where each price is from, an address in one piece."""
    yield Text("Prices; a month is 730 hours:", style="dim")
    for line in {line.hardware: line for line in found.lines}.values():
        verified = "verified" if line.price_verified else "not verified"
        told = f"  {line.hardware}: {verified}, of {line.price_date}, {line.price_source}"
        yield Text(told, style="dim", no_wrap=True, overflow="ignore")
