"""Renders a check as tables: the violations with place and reason, and the exemptions."""

from collections import Counter
from collections.abc import Iterator, Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from engine.tables import table
from fleet.check.judging import Checked
from policies.verdicts import Finding, State, Verdict

MARKS: Mapping[State, tuple[str, str]] = {
    "violated": ("\N{BALLOT X}", "red"),
    "advisory": ("!", "yellow"),
    "exempt": ("!", "dim"),
}
USES = {"expired": "over", "used": "in use"}
"""Of an exemption; those of objects that are not among the checked ones are left out."""


def checked_table(checked: Checked) -> Group:
    """Renders the check; only its last line if every rule holds."""
    return Group(*_parts(checked))


def _parts(checked: Checked) -> Iterator[RenderableType]:
    if checked.verdicts:
        yield _found(checked)
        yield Text()
        for verdict in checked.verdicts:
            yield from _reason(verdict)
        yield Text()
    if any(one.use in USES for one in checked.exemptions):
        yield _exemptions(checked)
        yield Text()
    if checked.unjudged:
        yield _unjudged(checked)
        yield Text()
    if checked.left:
        yield from (Text(sentence, style="yellow") for sentence in checked.left)
        yield Text()
    yield _summary(checked)


def _unjudged(checked: Checked) -> Table:
    made = table("?", "Where", "Asks for GPUs, and is not judged in")
    for each in checked.unjudged:
        where = f"{_at(each.resource.file, each.resource.line)}\n{each.resource}"
        made.add_row("?", Text(where), Text("\n".join(each.what)), style="yellow")
    return made


def _found(checked: Checked) -> Table:
    made = table("", "Where", "Rule", "What", whole=("Rule",))
    for finding in checked.findings:
        mark, style = MARKS[finding.state]
        file, line = checked.place(finding)
        template = finding.resource.template if finding.resource else ""
        where = _at(file, line) + (f"\n{template}" if template else "")
        for sentence in finding.sentences:
            cells = (where, finding.rule, sentence + _exempt(finding))
            made.add_row(Text(mark, style), *map(Text, cells))
    return made


def _at(file: str, line: int) -> str:
    """A place; an object of a cluster has no line."""
    return f"{file}:{line}" if line else file


def _exempt(finding: Finding) -> str:
    one = finding.exemption
    return f" Exempt, {one.owner}: {one.reason}." if one and finding.state == "exempt" else ""


def _reason(verdict: Verdict) -> Iterator[Text]:
    """Why there is the rule, and its source in one piece, so that it can be clicked and copied."""
    yield Text.assemble((f"{verdict.rule}: ", "bold"), verdict.why)
    yield Text(f"  {verdict.source}", style="dim", no_wrap=True, overflow="ignore")


def _exemptions(checked: Checked) -> Table:
    made = table("Exemption", "Of", "Owner", "Reason", "Until", "", whole=("Until",))
    for one in (each for each in checked.exemptions if each.use in USES):
        style = "red" if one.use == "expired" else ""
        cells = (one.rule, one.resource, one.owner, one.reason, one.until, USES[one.use])
        made.add_row(*map(Text, cells), style=style)
    return made


def _summary(checked: Checked) -> Text:
    if checked.unreadable and not checked.objects:
        count = _count(len(checked.unreadable), "place")
        return Text(f"Nothing judged: {count} cannot be read.", style="bold red")
    counts = Counter(
        finding.state for finding in checked.findings for _sentence in finding.sentences
    )
    told = ", ".join(f"{counts[state]} {state}" for state in MARKS if counts[state])
    others = f"; {_count(checked.others, 'other document')} left out" if checked.others else ""
    held = "nothing is broken in what can be read" if checked.unreadable else "all rules hold"
    if checked.unjudged:
        left = f"{_count(len(checked.unjudged), 'object')} with GPUs not judged, or only in part"
        others = f", {left}{others}"
        held = "nothing is broken in what can be judged"
    if checked.left:
        others = f", {len(checked.left)} not looked into{others}"
        held = "nothing is broken in what was looked into"
    good = "bold yellow" if checked.unjudged or checked.left else "bold green"
    style = (good, "bold red", "bold red")[checked.code]
    objects = f"{_count(checked.objects, 'object')} against {checked.environment}"
    return Text(f"{objects}: {told or held}{others}.", style=style)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
