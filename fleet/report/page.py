"""The report of a rehearsal as one page of HTML: no script, no address that a browser fetches."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from fleet.report.sections import sections
from policies.exemptions import exemption_note
from policies.verdicts import WORST_FIRST, State, Verdict
from rehearsal import digest
from rehearsal.report import Pool, Report

BOXES = 48  # of one pool, each a node
STATES: dict[State, tuple[str, str]] = {
    "violated": ("bad", "✗"),
    "advisory": ("warning", "!"),
    "exempt": ("warning", "!"),
    "not checked": ("warning", "?"),
    "disabled": ("off", "-"),
    "held": ("good", "✓"),
}


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """A pool as boxes, one a node: up, down, planned, or rented by Karpenter when needed."""

    title: str
    about: str
    boxes: tuple[str, ...]
    gpus: int  # of each node
    more: int  # nodes that are not drawn


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule with what it found, in sentences."""

    verdict: Verdict
    style: str
    mark: str
    found: tuple[str, ...]
    keys: tuple[str, ...]


def page(report: Report, when: str) -> str:
    """Return the page; `when` says of what time it is."""
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["with_code"] = with_code
    rules = sorted((_rule(each, report) for each in report.verdicts), key=_worst_first)
    return templates.get_template("page.html.j2").render(
        report=report,
        when=when,
        headline=digest.headline(report),
        broken=digest.broken(report),
        plan_note=digest.plan_note(report),
        rows=digest.pool_rows(report),
        drawings=[_drawing(pool, report) for pool in report.pools],
        cost=digest.cost(report),
        spent=_spent(report),
        warnings=[*digest.warnings(report)],
        sections=sections(report),
        not_rehearsed=digest.not_rehearsed(report),
        versions=digest.versions(report),
        open_rules=[rule for rule in rules if rule.style != "good"],
        held_rules=[rule for rule in rules if rule.style == "good"],
        resources=digest.resources(report),
    )


def with_code(text: str) -> Markup:
    """Return text whose parts in backticks are code, as HTML."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one of them is left open
        return escape(text)
    as_code = Markup("<code>{}</code>")  # what stands in it is escaped
    return Markup().join(
        as_code.format(part) if index % 2 else escape(part) for index, part in enumerate(parts)
    )


def _rule(verdict: Verdict, report: Report) -> Rule:
    style, mark = STATES[verdict.state]
    return Rule(
        verdict=verdict,
        style=style,
        mark=mark,
        found=tuple(dict.fromkeys(_sentences(verdict))),
        keys=tuple(
            dict.fromkeys(key for each in verdict.findings for key in digest.keys(each, report))
        ),
    )


def _sentences(verdict: Verdict) -> Iterator[str]:
    for finding in verdict.findings:
        note = f" {exemption_note(finding)}" if finding.state == "exempt" else ""
        yield from (f"{sentence}{note}" for sentence in finding.sentences)


def _worst_first(rule: Rule) -> int:
    return WORST_FIRST.index(rule.verdict.state)


def _spent(report: Report) -> float:
    """The part of the day's budget that is spent, in percent."""
    found = report.cost
    if found is None or not found.budget_usd_per_day:
        return 0
    return round(found.usd_per_hour * 24 / found.budget_usd_per_day * 100, 1)


def _drawing(pool: Pool, report: Report) -> Drawing:
    up = 0 if report.planned else pool.nodes_ready
    missing = "planned" if report.planned else "down"
    rented = (pool.gpu_limit or 0) // max(pool.gpus_per_node, 1)
    boxes = ["up"] * up + [missing] * (pool.nodes_wanted - up) + ["rented"] * rented
    parts = [digest.count(pool.nodes_wanted, "node")] if pool.nodes_wanted else []
    parts += [f"up to {digest.count(rented, 'rented node')}"] if rented else []
    return Drawing(
        title=pool.title or pool.name,
        about=f"{pool.hardware}, {pool.site}: {', '.join(parts)}",
        boxes=tuple(boxes[:BOXES]),
        gpus=pool.gpus_per_node,
        more=max(len(boxes) - BOXES, 0),
    )
