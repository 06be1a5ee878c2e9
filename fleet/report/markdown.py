"""The report of a rehearsal as Markdown: what the terminal shows on one screen, the rest folded."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from fleet.preview.markdown_parts import cell, code, rows
from fleet.report.section import Section, Table
from fleet.report.sections import not_started, sections
from rehearsal import digest
from rehearsal.digest import Line
from rehearsal.faults.words import lines as fault_lines
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
        *([*_folded(section)] for section in sections(report)),
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
    """What went as it should, a line each."""
    if told := digest.cost(report):
        yield f"- {cell(told)}"
    yield from (f"- {SIGNS['warning']}{cell(each)}." for each in digest.versions(report))
    smoke = digest.smoke(report)
    jobs = replace(smoke, more=()) if smoke else None  # each has its row below
    done = (digest.controllers(report), digest.kills(report), digest.ending(report))
    yield from _lines(filter(None, (jobs, *done, digest.shortened(report))))
    yield from _lines(fault_lines(report.faults))
    if report.moves:
        yield from (f"- {cell(line)}" for line in five_lines(report.moves, report.environment))
        yield from _lines(not_started(report.moves))
    yield from _lines(digest.counts(report))
    if left := digest.not_rehearsed(report):
        yield f"- Not rehearsed: {cell(left)}"


def _folded(section: Section) -> Iterator[str]:
    """Yield a section that is opened by a click; GitHub wants empty lines around its Markdown."""
    yield f"<details><summary>{SIGNS[section.mark]}{cell(section.title)}</summary>"
    for block in filter(None, _blocks(section)):
        yield from ("", *block)
    yield from ("", "</details>")


def _blocks(section: Section) -> Iterator[list[str]]:
    yield [cell(section.text)] if section.text else []
    yield [*_lines(section.lines)]
    yield from map(_table, section.tables)
    for fold in section.folds:
        yield [f"**{cell(fold.title)}**"]
        for title, names in fold.lists:
            yield [f"{cell(title)}: " * bool(title) + ", ".join(map(code, names))]
        yield [f"- {cell(sentence)}" for sentence in fold.sentences]
        yield from map(_table, fold.tables)
    yield [cell(section.note)] if section.note else []


def _table(table: Table) -> list[str]:
    title = [f"**{cell(table.title)}**", ""] if table.title else []
    aligned = "".join("r" if head in table.numbers else "l" for head in table.head)
    lines = (f"| {SIGNS[row.mark]}{' | '.join(map(cell, row.cells))} |" for row in table.rows)
    return [*title, *rows(table.head, aligned), *lines]
