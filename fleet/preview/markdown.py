"""A preview on one screen of Markdown, which is also the comment on a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.preview.cost import HOURS_PER_DAY, HOURS_PER_MONTH
from fleet.preview.words import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.preview.cost import Cost, Span
    from fleet.preview.summary import Summary
    from fleet.preview.verdicts import Verdict

POOLS_SHOWN = 12
RULES_SHOWN = 12
LINES_SHOWN = 5  # of errors and of warnings each
RESOURCES_SHOWN = 4
WIDTH = 300  # of an error; the whole of it stands in the engine's log


def markdown(summary: Summary) -> str:
    """The whole of it, at most some 45 lines."""
    blocks = [[_headline(summary)], [*_lines("⛔", summary.errors)]]
    if not summary.errors:  # where the engine broke off, the rest would be half of the truth
        blocks += [[*_changes(summary)], [*_rules(summary.verdicts)], [*_cost(summary)]]
    blocks += [[*_lines("⚠️", summary.warnings)]]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _headline(summary: Summary) -> str:
    broken = [verdict for verdict in summary.verdicts if verdict.state == "violated"]
    if broken:
        state = f"stopped: {count(len(broken), 'rule')} violated"
    elif not summary.holds:
        state = "stopped"
    elif summary.changes:
        state = "holds"
    else:
        state = "holds, nothing changes"
    mark = "✅" if summary.holds else "⛔"
    return f"### {mark} Preview of `{summary.environment}`: {state}"


def _lines(mark: str, texts: tuple[str, ...]) -> Iterator[str]:
    bullet = f"- {mark}".rstrip()
    for text in texts[:LINES_SHOWN]:
        yield f"{bullet} {_cell(_short(text))}"
    if len(texts) > LINES_SHOWN:
        yield f"{bullet} and {len(texts) - LINES_SHOWN} more in the engine's log"


def _changes(summary: Summary) -> Iterator[str]:
    if not summary.changes:
        return
    if not summary.holds:
        yield "As far as the engine came before it was stopped:"
        yield ""
    for name, sentences in list(summary.pools.items())[:POOLS_SHOWN]:
        yield f"- **pool {name}**: {'; '.join(map(_cell, sentences))}"
    if len(summary.pools) > POOLS_SHOWN:
        yield f"- and {len(summary.pools) - POOLS_SHOWN} more pools"
    if summary.others:
        yield f"- everything else: {'; '.join(summary.others)}"
    if summary.unchanged:
        yield f"- unchanged: {count(summary.unchanged, 'resource')}"


def _rules(verdicts: tuple[Verdict, ...]) -> Iterator[str]:
    yield "| Rule | What must hold | |"
    yield "|---|---|---|"
    shown = [verdict for verdict in verdicts if verdict.state != "held"]
    held = [verdict for verdict in verdicts if verdict.state == "held"]
    room = max(RULES_SHOWN - len(shown), 0)
    for verdict in (*shown, *held[:room]):
        yield f"| `{verdict.rule}` | {_cell(verdict.sentence)} | {_state(verdict)} |"
    if held[room:]:
        yield f"| {count(len(held[room:]), 'more rule')} | | held |"
    said = tuple(sentence for verdict in shown for sentence in verdict.said)
    if said:
        yield ""
        yield from _lines("", said)


def _state(verdict: Verdict) -> str:
    marks = {"held": "✅ held", "violated": "⛔ **violated**", "told": "⚠️ told"}
    text = marks.get(verdict.state, verdict.state)
    names = ", ".join(f"`{name}`" for name in verdict.resources[:RESOURCES_SHOWN])
    more = len(verdict.resources) - RESOURCES_SHOWN
    named = f"{names} and {more} more" if more > 0 else names
    return f"{text}: {named}" if named else text


def _cost(summary: Summary) -> Iterator[str]:
    found = summary.cost
    yield "| Cost in USD | before, a day | after, a day | change, a day | change, a month |"
    yield "|---|--:|--:|--:|--:|"
    yield _row("always on", found.fixed)
    if found.burst.before or found.burst.after:
        yield _row("burst, at most", found.burst)
    notes = [*_notes(found)]
    after = (found.fixed.after + found.burst.after) * HOURS_PER_DAY
    budget = f"Budget {summary.budget_usd_per_day:,.0f} USD a day"
    if after > summary.budget_usd_per_day:
        budget += f", and all of it running would cost {after:,.0f}"
    yield ""
    yield "; ".join([budget, *notes]) + "."
    if found.doubts:
        yield ""
        yield f"Of the hardware nobody has verified: {'; '.join(found.doubts)}."


def _row(name: str, span: Span) -> str:
    day = [amount * HOURS_PER_DAY for amount in (span.before, span.after)]
    cells = [f"{amount:,.2f}" for amount in day]
    cells += [_signed(span.change * hours) for hours in (HOURS_PER_DAY, HOURS_PER_MONTH)]
    return f"| {name} | {' | '.join(cells)} |"


def _signed(amount: float) -> str:
    return "0.00" if abs(amount) < 0.005 else f"{amount:+,.2f}"


def _notes(found: Cost) -> Iterator[str]:
    if found.unverified:
        yield f"⚠️ price not verified: {', '.join(found.unverified)}"
    if found.without_price:
        yield f"⚠️ no price known, not in the sums: {', '.join(found.without_price)}"


def _short(text: str) -> str:
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…"


def _cell(text: str) -> str:
    """Text that neither breaks a table nor becomes HTML or a mention of somebody."""
    flat = " ".join(text.split())
    return flat.replace("|", "\\|").replace("<", "&lt;").replace("@", "@\N{ZERO WIDTH SPACE}")
