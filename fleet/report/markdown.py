"""The report of a rehearsal as Markdown: what the terminal shows on one screen."""

from collections.abc import Iterable, Iterator

from fleet.preview.markdown_parts import cell, code, rows
from rehearsal import digest
from rehearsal.digest import Line
from rehearsal.moves.words import five_lines
from rehearsal.report import Report

SIGNS = {"good": "✅ ", "bad": "⛔ ", "warning": "⚠️ ", "plain": ""}


def markdown(report: Report, when: str) -> str:
    """Return the page; `when` says of what time it is."""
    blocks = [
        [f"### {'✅' if report.passed else '⛔'} {cell(digest.headline(report))}"],
        [when] if when else [],
        [*_broken(report)],
        [*_pools(report)],
        [*_lines(digest.advice(report)), *_lines(digest.warnings(report))],
        [*_rest(report)],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _broken(report: Report) -> Iterator[str]:
    for each in digest.broken(report):
        also = f" The same of {', '.join(each.others)}." if each.others else ""
        yield f"- ⛔ {code(each.rule)}: {cell(' '.join(each.sentences) + also)}"
        yield from (f"  - change {code(key)}" for key in each.keys)
    yield from (f"- ⛔ {cell(problem)}" for problem in report.other_problems)


def _pools(report: Report) -> Iterator[str]:
    if not report.pools:
        return
    if note := digest.plan_note(report):
        yield from (note, "")
    yield from rows(("Site", "Pool", "Hardware", "Nodes", "Pod CPUs", "GPUs", "USD/h"), "lllrrlr")
    for row in digest.pool_rows(report):
        cells = (row.site, row.pool, row.hardware, row.nodes, row.pod_cpus, row.gpus)
        yield f"| {' | '.join(map(cell, (*cells, row.usd_per_hour)))} |"


def _lines(lines: Iterable[Line]) -> Iterator[str]:
    """Yield each line, and below it what else there is to say of it."""
    for line in lines:
        about = f"{code(line.about)}: " if line.about else ""
        yield f"- {SIGNS[line.mark]}{about}{cell(line.text)}"
        yield from (f"  - {cell(text)}" for text in line.more)


def _rest(report: Report) -> Iterator[str]:
    if told := digest.cost(report):
        yield f"- {cell(told)}"
    yield from _lines(filter(None, (digest.smoke(report), digest.shortened(report))))
    if report.moves:
        yield from (f"- {cell(line)}" for line in five_lines(report.moves, report.environment))
    yield from _lines(digest.counts(report))
    if left := digest.not_rehearsed(report):
        yield f"- Not rehearsed: {cell(left)}"
