"""`fleet explain LINE`: why a line is in the plans, with its source."""

import json as json_text
from dataclasses import asdict
from typing import Annotated

import typer

from fleet.cli.completing import words
from fleet.cli.place import Json
from fleet.cli.printing import refuse, show


def explain(
    line: Annotated[
        str,
        typer.Argument(
            metavar="LINE",
            help="A kernel argument, sysctl or kubelet field: isolcpus, nohz_full.",
            autocompletion=words,
        ),
    ],
    *,
    json: Json = False,
) -> None:
    """Explain a kernel argument, sysctl or kubelet field.

    Prints why the plans of the catalogue contain the line, or why none does, with the source.

    \b
    Examples:
      fleet explain isolcpus
      fleet explain nohz_full

    Exit code 2 if the name is unknown.
    """
    from fleet.plan.explanation import Refusal
    from fleet.plan.explanation import explain as explanations
    from fleet.plan.subject import SubjectError
    from fleet.plan.tables import explanation_lines

    try:
        found = explanations(line)
    except SubjectError as error:
        refuse(error)
    if isinstance(found, Refusal):
        sentence = f"No plan of the catalogue has {found.line}: {found.reason}."
        typer.echo(json_text.dumps(asdict(found), indent=2) if json else sentence)
    elif json:
        typer.echo(json_text.dumps([asdict(each) for each in found], indent=2))
    else:
        show(explanation_lines(found))
