"""Renders the rules of a preview in Markdown: violated, exempt, or not checked until up."""

import re
from collections.abc import Iterator, Sequence

from fleet.preview.markdown_parts import bullets, cell, code, rows, short
from fleet.preview.pool_sentences import count
from policies.exemptions import ExemptionStatus
from policies.verdicts import State, Verdict

RULES_SHOWN = 6
SENTENCES_SHOWN = 2  # of one rule
EXEMPTIONS_SHOWN = 4
WAITING_SHOWN = 3
NAMES_SHOWN = 6
MARKS: dict[State, str] = {"violated": "⛔ **violated**", "advisory": "⚠️ advisory"}
COUNTED: dict[State, str] = {
    "exempt": "exempt",
    "not checked": "🕓 not checked",
    "disabled": "disabled",
    "held": "✅ held",
}


def rules(
    verdicts: Sequence[Verdict], exemptions: Sequence[ExemptionStatus], docs: str, *, complete: bool
) -> tuple[Iterator[str], ...]:
    """Returns the table of rules, the exemptions, and the checks that wait for the update.

    It is not `complete` if the engine stopped before it reached every resource.
    """
    so_far = "" if complete else " so far"
    return (table(verdicts, docs, so_far), exempt(exemptions, docs), _waiting(verdicts))


def link(rule: str, docs: str) -> str:
    """Links the rule's section; GitHub drops all but letters, digits, hyphens in an anchor."""
    return f"[{rule}]({docs}#{re.sub(r'[^a-z0-9-]', '', rule)})"


def table(verdicts: Sequence[Verdict], docs: str, so_far: str = "") -> Iterator[str]:
    """Yields the table of rules: violated, advisory, and the number of all others."""
    yield from rows(("Rule", "Finding", ""), "lll")
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
    for sentence in verdict.sentences[:SENTENCES_SHOWN]:
        yield cell(short(sentence))
    more = len(verdict.sentences) - SENTENCES_SHOWN
    if more > 0:
        yield f"and {more} more"


def _packs(names: Sequence[str], docs: str) -> str:
    """Counts the rules of each pack, because there are too many to name."""
    packs = [name.partition("/")[0] for name in names]
    told = ", ".join(f"{packs.count(pack)} {pack}" for pack in sorted(set(packs)))
    return f"[{told}]({docs})"


def _names(names: Sequence[str], docs: str) -> str:
    more = len(names) - NAMES_SHOWN
    told = ", ".join(link(name, docs) for name in names[:NAMES_SHOWN])
    return f"{told} and {more} more" if more > 0 else told


def exempt(exemptions: Sequence[ExemptionStatus], docs: str) -> Iterator[str]:
    """Yields the exemptions."""
    for one in exemptions[:EXEMPTIONS_SHOWN]:
        ended = one.use == "expired"
        until = f"⛔ was exempt until {one.until}" if ended else f"exempt until {one.until}"
        unused = ", though it keeps the rule" if one.use == "unused" else ""
        why = f"{cell(one.owner)}: {cell(one.reason)}"
        yield f"- {code(one.resource)} {until} from {link(one.rule, docs)}{unused} ({why})"
    if more := len(exemptions[EXEMPTIONS_SHOWN:]):
        yield f"- and {count(more, 'more exemption')} in the stack file"


def _waiting(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yields each unknown value once, with the rules that wait for it."""
    waits: dict[str, list[str]] = {}
    for verdict in verdicts:
        for sentence in verdict.waiting:
            waits.setdefault(sentence, []).append(verdict.rule)
    lines = [f"{text.rstrip('.')} ({', '.join(names)})." for text, names in waits.items()]
    yield from bullets("🕓", lines, WAITING_SHOWN)
