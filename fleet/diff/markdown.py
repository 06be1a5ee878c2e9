"""Shows a change as Markdown: the parts of the comment on a pull request."""

from collections.abc import Iterator, Sequence

from fleet.diff.comparison import Difference
from fleet.diff.rules import Kind
from fleet.diff.words import not_compared, of_kind, rule_line, verdict
from fleet.preview.markdown import DOCS, LINES_SHOWN, changes, cost, joined
from fleet.preview.markdown_parts import bullets, cell
from fleet.preview.rules import exempt, link, table

SIGNS: dict[Kind, str] = {
    "broken": "⛔",
    "warned": "⚠️",
    "still broken": "⚠️",
    "changed": "⚠️",
    "mended": "✅",
}


def markdown(found: Difference, docs: str = DOCS) -> str:
    """Returns the whole of a change."""
    sign = "✅" if found.holds and not found.summary.beyond else "⛔"
    told = found.summary
    unknown = not_compared(found) if told.changes else ""
    blocks = [
        [f"### {sign} {cell(verdict(found))}"],
        [*_rules(found, docs)],
        _list("⛔", told.beyond),
        *changes(told, complete=True),
        [unknown] if unknown else [],
        _list("⚠️", told.takes),
        [*table(told.verdicts, docs)],
        [*exempt(told.exemptions, docs)],
        [*cost(told, complete=True)],
        _list("⚠️", told.warnings),
    ]
    return joined(blocks)


def _list(sign: str, texts: Sequence[str]) -> list[str]:
    return [*bullets(sign, texts, LINES_SHOWN, rest="the JSON")]


def _rules(found: Difference, docs: str) -> Iterator[str]:
    for change in of_kind(found, *SIGNS):
        new = change.kind in ("broken", "warned")
        told = "broken by this change" if new else rule_line(change)
        yield f"- {SIGNS[change.kind]} {link(change.rule, docs)}: {told}"
