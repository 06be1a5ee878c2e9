"""Renders an audit: what holds and what it costs, then namespaces, rules, and what nobody saw."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from engine.tables import table
from fleet.audit.judging import Audited
from fleet.check.tables import checked_table

SHOWN = 10
NONE = "-"


def audited_table(audited: Audited, *, whole: bool) -> Group:
    """Render the audit; `whole` adds every finding."""
    return Group(*_parts(audited, whole=whole))


def _parts(audited: Audited, *, whole: bool) -> Iterator[RenderableType]:
    yield _verdict(audited)
    yield from (Text(line) for line in _notes(audited))
    if audited.by_namespace:
        yield Text()
        yield _namespaces(audited)
    if audited.by_rule:
        yield Text()
        yield _rules(audited)
    if audited.checked.unjudged:
        yield Text()
        yield from _unjudged(audited)
    if whole and audited.checked.findings:
        yield Text()
        yield checked_table(audited.checked)
    elif audited.by_rule:
        yield Text()
        yield Text("Each object with its sentence: --all, or --json.", style="dim")


def _verdict(audited: Audited) -> Text:
    checked, broken = audited.checked, audited.broken
    of = f"{checked.objects} objects and {audited.pods} pods of {audited.kinds} kinds"
    if broken.objects:
        stake = f"{broken.objects} of {checked.objects} objects break a mandatory rule"
        if broken.gpus:
            held = (
                f" and hold {_number(broken.gpus)} of the {_number(audited.gpus_in_use)} GPUs in "
                f"use: {broken.gpu_hours:,.0f} GPU-hours and {broken.usd:,.0f} USD so far, "
                f"{broken.usd_per_hour:,.2f} USD an hour"
            )
        else:
            held = "; none of them holds a GPU now"
        said = f"{stake}{held}."
    elif any(each.level == "mandatory" for each in checked.verdicts if each.state == "violated"):
        said = f"An exemption has ended; {of} break no mandatory rule."
    elif checked.unreadable:
        said = f"Nothing is broken in what can be read: {of}."
    elif checked.unjudged:
        said = f"Nothing is broken in what can be judged: {of}."
    else:
        said = f"All mandatory rules hold: {of}."
    doubtful = checked.unreadable or checked.unjudged
    style = "red" if checked.code else "yellow" if doubtful else "green"
    return Text(f"{checked.environment}: {said}", style=f"bold {style}")


def _notes(audited: Audited) -> Iterator[str]:
    if audited.forbidden:
        count, names = len(audited.forbidden), ", ".join(audited.forbidden)
        kinds = "1 kind" if count == 1 else f"{count} kinds"
        yield f"Not read, as your access does not allow it: {kinds} ({names})."
    if audited.without_price:
        names = ", ".join(
            each or "nodes that nobody has labelled" for each in audited.without_price
        )
        yield f"Without a price, so that USD are too few: {names}."
    if audited.not_verified:
        yield f"Price not verified: {', '.join(audited.not_verified)}."


def _namespaces(audited: Audited) -> Table:
    columns = ("Broken", "GPUs", "In use", "GPU-hours", "USD", "USD/h")
    made = table("Namespace", "Team", *columns, right=columns)
    for each in audited.by_namespace:
        made.add_row(
            each.namespace or NONE,
            each.team or NONE,
            str(each.objects),
            _number(each.gpus),
            _number(each.gpus_in_use),
            f"{each.gpu_hours:,.0f}",
            f"{each.usd:,.0f}",
            f"{each.usd_per_hour:,.2f}",
        )
    return made


def _rules(audited: Audited) -> Table:
    numbers = ("Objects", "GPUs", "USD/h")
    made = table("Rule", "Level", *numbers, "For example", right=numbers, whole=("Rule",))
    worst = sorted(
        audited.by_rule, key=lambda each: (each.level != "mandatory", -each.gpus, -each.objects)
    )
    for each in worst:
        made.add_row(
            each.rule,
            each.level,
            str(each.objects),
            _number(each.gpus),
            f"{each.usd_per_hour:,.2f}",
            Text(each.example),
        )
    return made


def _unjudged(audited: Audited) -> Iterator[Text]:
    sentences = [said for each in audited.checked.unjudged for said in each.sentences]
    for sentence in sentences[:SHOWN]:
        yield Text(sentence, style="yellow")
    if len(sentences) > SHOWN:
        yield Text(f"{len(sentences) - SHOWN} more are in --json.", style="yellow")


def _number(gpus: float) -> str:
    return f"{gpus:,.1f}".removesuffix(".0")
