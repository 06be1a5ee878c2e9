"""Renders a preview as one screen of Markdown, also used as the pull request's comment."""

from collections.abc import Iterable, Iterator, Sequence

from fleet.preview.cost import HOURS_PER_DAY, HOURS_PER_MONTH, Cost, Span, budget, uncertain
from fleet.preview.markdown_parts import bullets, cell, rows
from fleet.preview.pool_sentences import count
from fleet.preview.rehearsal import Rehearsed
from fleet.preview.rules import rules
from fleet.preview.sizes import told as shown
from fleet.preview.summary import Summary

POOLS_SHOWN = 8
LINES_SHOWN = 4  # of errors, of warnings and of the rehearsal's problems each
DOCS = "docs/policies.md"


def mark(environment: str) -> str:
    """Returns the hidden marker that identifies the comment of an environment."""
    return f"<!-- gpu-fleet preview {environment} -->"


def markdown(summary: Summary, docs: str = DOCS) -> str:
    """Renders at most about 45 lines; `docs` is the address of the page with all rules."""
    blocks = [[_headline(summary)], [*bullets("⛔", summary.errors, LINES_SHOWN)]]
    if not summary.errors:  # an engine that failed saw only some of the resources
        blocks += [[*bullets("⛔", summary.beyond, LINES_SHOWN)]]
        blocks += changes(summary, complete=summary.holds)
        blocks += [[*bullets("⚠️", summary.takes, LINES_SHOWN)]]
        judged = rules(summary.verdicts, summary.exemptions, docs, complete=summary.holds)
        blocks += [[*block] for block in judged]
        blocks += [[*cost(summary, complete=summary.holds)]]
    blocks += [[*_rehearsal(summary)], [*bullets("⚠️", summary.warnings, LINES_SHOWN)]]
    return joined(blocks)


def changes(summary: Summary, *, complete: bool) -> list[list[str]]:
    """Returns what becomes of pools and of other resources, `complete` if nothing ended it."""
    return [[*_pools(summary, complete=complete)], [*_others(summary)]]


def joined(blocks: Iterable[Sequence[str]]) -> str:
    """Returns the text of parts, without the empty ones."""
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _headline(summary: Summary) -> str:
    broken = [verdict for verdict in summary.verdicts if verdict.state == "violated"]
    if broken:
        state = f"stopped: {count(len(broken), 'rule')} violated"
    elif summary.beyond and not summary.errors:
        state = "stopped: more machines than `gpu-fleet:allow`"
    elif not summary.holds:
        state = "stopped"
    elif summary.changes:
        state = "passed"
    else:
        state = "passed, no changes"
    sign = "✅" if summary.holds else "⛔"
    return f"### {sign} Preview of `{summary.environment}`: {state}"


def _pools(summary: Summary, *, complete: bool) -> Iterator[str]:
    if not summary.pools:
        return
    if not complete:
        yield "Incomplete, because the engine was stopped:"
        yield ""
    yield from rows(("Pool", "Nodes", "GPUs", "Reboot?", "What changes"), "lrrll")
    for name, sentences in list(summary.pools.items())[:POOLS_SHOWN]:
        size = summary.sizes[name]
        told = "; ".join(map(cell, sentences))
        nodes, gpus = (
            shown(pair, at_most=size.at_most, emphasis="**") for pair in (size.nodes, size.gpus)
        )
        yield f"| **{cell(name)}** | {nodes} | {gpus} | {size.reboot} | {told} |"
    if len(summary.pools) > POOLS_SHOWN:
        yield f"| {len(summary.pools) - POOLS_SHOWN} more pools | | | | |"


def _others(summary: Summary) -> Iterator[str]:
    if summary.changes:
        unchanged = f"{count(summary.unchanged, 'resource')} unchanged"
        yield "Everything else: " + "; ".join([*summary.others, unchanged]) + "."


def cost(summary: Summary, *, complete: bool) -> Iterator[str]:
    """Yields the cost before and after, and the budget."""
    found = summary.cost
    what = "Cost in USD" if complete else "Cost in USD, incomplete"
    head = (what, "before, a day", "after, a day", "change, a day", "change, a month")
    yield from rows(head, "lrrrr")
    yield _row("always on", found.fixed)
    if found.burst.before or found.burst.after:
        yield _row("burst, at most", found.burst)
    yield ""
    yield "; ".join([budget(found, summary.budget_usd_per_day), *_notes(found)]) + "."


def _row(name: str, span: Span) -> str:
    day = [amount * HOURS_PER_DAY for amount in (span.before, span.after)]
    cells = [f"{amount:,.2f}" for amount in day]
    cells += [_signed(span.change * hours) for hours in (HOURS_PER_DAY, HOURS_PER_MONTH)]
    return f"| {name} | {' | '.join(cells)} |"


def _signed(amount: float) -> str:
    return "0.00" if abs(amount) < 0.005 else f"{amount:+,.2f}"


def _notes(found: Cost) -> Iterator[str]:
    yield from (f"⚠️ {doubt}" for doubt in uncertain(found))
    if found.doubts:
        yield f"unverified catalogue data: {'; '.join(found.doubts)}"


def _rehearsal(summary: Summary) -> Iterator[str]:
    found = summary.rehearsal
    if found is None:
        yield f"Rehearsal: none given, `make rehearse ENV={summary.environment}` runs one."
    elif found.passed:
        yield f"Rehearsal: ✅ passed; {'; '.join(_rehearsed(found))}."
    else:
        yield f"Rehearsal: ⛔ failed; {'; '.join(_rehearsed(found))}."
        yield ""
        yield from bullets("⛔", found.problems, LINES_SHOWN)
    if found is not None and found.change:
        yield ""
        yield from (f"- {cell(line)}" for line in found.change)
        told = tuple(f"not started: {sentence}" for sentence in found.not_started)
        yield from bullets("⚠️", told, LINES_SHOWN, rest="the report")


def _rehearsed(found: Rehearsed) -> Iterator[str]:
    yield f"{found.nodes_ready} of {count(found.nodes_wanted, 'node')} Ready"
    if found.jobs:
        yield found.jobs
    yield f"{found.seconds:.0f} s in all"
