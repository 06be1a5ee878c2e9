"""`fleet explain LINE`: why a line stands in the plans, with its source."""

from __future__ import annotations

import json as json_text
from dataclasses import asdict
from importlib import import_module
from typing import Annotated

import typer

from fleet.cli.printing import refuse, show


def explain(
    line: Annotated[
        str, typer.Argument(metavar="LINE", help="Such as isolcpus or vm.dirty_bytes.")
    ],
    *,
    json: Annotated[bool, typer.Option("--json", help="Print JSON alone.")] = False,
) -> None:
    """Tell why a kernel argument, a sysctl or a kubelet field is there, with its source.

    Exit code 2 where no plan of the catalogue has such a line.
    """
    explanations = import_module("fleet.plan.explanation")
    try:
        found = explanations.explain(line)
    except import_module("fleet.plan.subject").SubjectError as error:
        refuse(error)
    if json:
        typer.echo(json_text.dumps([asdict(each) for each in found], indent=2))
    else:
        show(import_module("fleet.plan.tables").explanation_table(found))
