"""Shows a change on a terminal: the verdict, pools, sentences, rules, cost."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from engine.console import behind
from engine.tables import table
from fleet.diff.comparison import Difference
from fleet.diff.rules import RuleChange
from fleet.diff.words import not_compared, of_kind, rule_line, verdict
from fleet.preview.cost import HOURS_PER_DAY, HOURS_PER_MONTH, Span, budget, uncertain
from fleet.preview.pool_sentences import count
from fleet.preview.sizes import told

SENTENCES_SHOWN = 4  # of one rule
WARNING = ("!", "yellow")
BAD = ("✗", "red")
GOOD = ("✓", "green")


def render(found: Difference) -> Group:
    """Returns the whole of a change."""
    blocks = [[*block] for block in (_pools(found), _sentences(found), _rules(found), _cost(found))]
    parts: list[RenderableType] = [Text(verdict(found), style=_style(found))]
    for block in filter(None, blocks):
        parts += [Text(), *block]
    return Group(*parts)


def _style(found: Difference) -> str:
    if not found.holds:
        return "bold red"
    return "bold yellow" if found.summary.beyond else "bold green"


def _pools(found: Difference) -> Iterator[Table]:
    summary = found.summary
    if not summary.pools:
        return
    made = table(
        *("Pool", "Nodes", "GPUs", "USD a day", "Reboot?"),
        right=("Nodes", "GPUs", "USD a day"),
        whole=("Pool",),
    )
    for name in sorted(found.usd_per_day):
        size = summary.sizes[name]
        sizes = (told(pair, at_most=size.at_most) for pair in (size.nodes, size.gpus))
        usd = _usd(*found.usd_per_day[name])
        most = f"up to {usd}" if size.at_most else usd
        style = "" if name in summary.pools else "dim"
        made.add_row(name, *sizes, most, size.reboot, style=style)
    yield made


def _usd(before: float, after: float) -> str:
    amounts = [f"{amount:,.2f}" for amount in (before, after)]
    return amounts[1] if amounts[0] == amounts[1] else " → ".join(amounts)


def _sentences(found: Difference) -> Iterator[RenderableType]:
    summary = found.summary
    for sentence in summary.beyond:
        yield behind(*BAD, Text(sentence))
    for sentence in summary.takes:
        yield behind(*WARNING, Text(f"{sentence}."))
    for name, sentences in summary.pools.items():
        for sentence in sentences:
            yield behind(" ", "", Text.assemble((f"{name}: ", "bold"), sentence))
    if summary.others:
        yield behind(" ", "", Text(f"Everything else: {'; '.join(summary.others)}."))
    if summary.changes and (unknown := not_compared(found)):
        yield behind(" ", "dim", Text(unknown, style="dim"))
    for sentence in summary.warnings:
        yield behind(*WARNING, Text(sentence))


def _rules(found: Difference) -> Iterator[RenderableType]:
    for change in of_kind(found, "broken"):
        yield behind(*BAD, Group(*_broken(change, found.summary.environment)))
    for change in of_kind(found, "warned"):
        yield behind(*WARNING, Group(*_broken(change, found.summary.environment)))
    for change in of_kind(found, "still broken", "changed"):
        yield behind(*WARNING, _rule(change))
    for change in of_kind(found, "mended"):
        yield behind(*GOOD, _rule(change))
    held = sum(each.state == "held" for each in found.summary.verdicts)
    waiting = sum(each.state == "not checked" for each in found.summary.verdicts)
    need = f"; {waiting} need the preview" if waiting else ""
    yield behind(" ", "", Text(f"{count(held, 'rule')} {'holds' if held == 1 else 'hold'}{need}."))


def _rule(change: RuleChange) -> Text:
    return Text.assemble((f"{change.rule}: ", "bold"), rule_line(change))


def _broken(change: RuleChange, environment: str) -> Iterator[Text]:
    shown = change.sentences[:SENTENCES_SHOWN]
    more = len(change.sentences) - len(shown)
    text = " ".join([*shown, *([f"And {more} more."] if more else [])])
    yield Text.assemble((f"{change.rule}: ", "bold"), text)
    if change.keys:
        yield Text(f"To change in stacks/Pulumi.{environment}.yaml:")
        yield from (Text(f"  {key}", style="cyan", overflow="fold") for key in change.keys)


def _cost(found: Difference) -> Iterator[RenderableType]:
    cost = found.summary.cost
    yield behind(" ", "", Text(f"Always on: {_span(cost.fixed)}."))
    if cost.burst.before or cost.burst.after:
        yield behind(" ", "", Text(f"Bursts: up to {_span(cost.burst)}."))
    yield behind(" ", "", Text(f"{budget(cost, found.summary.budget_usd_per_day)}."))
    for sentence in uncertain(cost):
        yield behind(*WARNING, Text(f"{sentence}."))


def _span(span: Span) -> str:
    day = _usd(*(amount * HOURS_PER_DAY for amount in (span.before, span.after)))
    month = span.change * HOURS_PER_MONTH
    more = f" ({month:+,.2f} a month)" if abs(month) >= 0.005 else ""
    return f"{day} USD a day{more}"
