"""The rules of a preview in Markdown: what is broken, under exemption, or not checked until up."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fleet.preview.markdown_parts import bullets, cell, code, rows, short
from fleet.preview.pool_sentences import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fleet.preview.verdicts import State, Verdict
    from policies.exemptions import Leave

RULES_SHOWN = 6
SENTENCES_SHOWN = 2  # of one rule
LEAVES_SHOWN = 4
WAITING_SHOWN = 3
NAMES_SHOWN = 6
MARKS: dict[State, str] = {"violated": "⛔ **violated**", "told": "⚠️ told"}
COUNTED: dict[State, str] = {
    "exempt": "exempt",
    "not checked until up": "🕓 not checked until up",
    "disabled": "disabled",
    "held": "✅ held",
}


def rules(
    verdicts: Sequence[Verdict], exemptions: Sequence[Leave], docs: str, *, complete: bool
) -> tuple[Iterator[str], ...]:
    """The table of the rules, the exemptions, and what waits for the update.

    It is not `complete` where the engine was stopped before it came to every resource.
    """
    return (
        _table(verdicts, docs, so_far="" if complete else " so far"),
        _leaves(exemptions, docs),
        _waiting(verdicts),
    )


def link(rule: str, docs: str) -> str:
    """To the rule's own section; GitHub drops all but letters, digits and hyphens in an anchor."""
    return f"[{rule}]({docs}#{re.sub(r'[^a-z0-9-]', '', rule)})"


def _table(verdicts: Sequence[Verdict], docs: str, *, so_far: str) -> Iterator[str]:
    yield from rows(("Rule", "What must hold", ""), "lll")
    broken = [verdict for verdict in verdicts if verdict.state in MARKS]
    for verdict in broken[:RULES_SHOWN]:
        told = "<br>".join(_sentences(verdict))
        yield f"| {link(verdict.rule, docs)} | {told} | {MARKS[verdict.state]} |"
    if broken[RULES_SHOWN:]:
        yield f"| {count(len(broken[RULES_SHOWN:]), 'more rule')} | | see the JSON |"
    for state, mark in COUNTED.items():
        names = [verdict.rule for verdict in verdicts if verdict.state == state]
        if names:
            held = state == "held"
            shown = _packs(names, docs) if held else _names(names, docs)
            yield f"| {count(len(names), 'rule')} | {shown} | {mark}{so_far if held else ''} |"


def _sentences(verdict: Verdict) -> Iterator[str]:
    for sentence in verdict.said[:SENTENCES_SHOWN]:
        yield cell(short(sentence))
    more = len(verdict.said) - SENTENCES_SHOWN
    if more > 0:
        yield f"and {more} more"


def _packs(names: Sequence[str], docs: str) -> str:
    """How many of each pack: there are too many rules to name those that nobody needs to read."""
    packs = [name.partition("/")[0] for name in names]
    told = ", ".join(f"{packs.count(pack)} {pack}" for pack in sorted(set(packs)))
    return f"[{told}]({docs})"


def _names(names: Sequence[str], docs: str) -> str:
    more = len(names) - NAMES_SHOWN
    told = ", ".join(link(name, docs) for name in names[:NAMES_SHOWN])
    return f"{told} and {more} more" if more > 0 else told


def _leaves(exemptions: Sequence[Leave], docs: str) -> Iterator[str]:
    for leave in exemptions[:LEAVES_SHOWN]:
        ended = leave.use == "expired"
        until = f"⛔ was exempt until {leave.until}" if ended else f"exempt until {leave.until}"
        unused = ", though it keeps the rule" if leave.use == "unused" else ""
        why = f"{cell(leave.owner)}: {cell(leave.reason)}"
        yield f"- {code(leave.resource)} {until} from {link(leave.rule, docs)}{unused} ({why})"
    if exemptions[LEAVES_SHOWN:]:
        yield f"- and {count(len(exemptions[LEAVES_SHOWN:]), 'more exemption')} in the stack file"


def _waiting(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Each value that nobody knows yet once, with how many rules wait for it."""
    waits: dict[str, list[str]] = {}
    for verdict in verdicts:
        for sentence in verdict.waiting:
            waits.setdefault(sentence, []).append(verdict.rule)
    lines = [f"{text.rstrip('.')} ({', '.join(names)})." for text, names in waits.items()]
    yield from bullets("🕓", lines, WAITING_SHOWN)
