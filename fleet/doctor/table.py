"""The table of `fleet doctor`: the verdict, what was found, and what to type."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from engine.tables import table
from fleet.doctor.finding import PURPOSES, Finding

MARKS = {"ok": ("✓", "green"), "missing": ("✗", "red"), "optional": ("!", "yellow")}


def doctor_table(findings: Sequence[Finding], environment: str | None) -> Group:
    """Return the verdict for each purpose, the table, and below it the commands in one piece."""
    made = table("", "For", "What", "Found", whole=("For", "What"))
    purpose = ""
    for each in findings:
        mark, style = MARKS[_state(each)]
        name = PURPOSES[each.purpose]
        made.add_row(
            Text(mark, style=style), name if name != purpose else "", each.what, each.found
        )
        purpose = name
    parts: list[RenderableType] = [*_verdicts(findings, environment), Text(), made]
    if todo := [*_todo(findings)]:
        parts += [Text("\nTo do:"), *todo]
    return Group(*parts)


def _verdicts(findings: Sequence[Finding], environment: str | None) -> Iterator[Text]:
    for purpose, name in PURPOSES.items():
        if purpose == "deploy" and environment is None:
            continue
        lacks = [each.what for each in findings if each.purpose == purpose and each.missing]
        title = f"{name} of {environment}" if purpose == "deploy" else name
        mark, style = MARKS["missing" if lacks else "ok"]
        rest = f"missing: {', '.join(lacks)}" if lacks else "nothing is missing"
        yield Text(f"{mark} For {title} {rest}.", style=style)


def _todo(findings: Sequence[Finding]) -> Iterator[Text]:
    """Yield each command once, those that are needed first."""
    commands: dict[str, Finding] = {}
    for each in sorted(findings, key=lambda finding: not finding.missing):
        for line in filter(None, each.mend.split("\n")):
            commands.setdefault(line, each)
    for command, each in commands.items():
        note = "" if each.missing else "  # optional"
        yield Text(f"  {command}{note}", no_wrap=True, overflow="ignore")


def _state(finding: Finding) -> str:
    if finding.missing:
        return "missing"
    return "optional" if finding.mend else "ok"
