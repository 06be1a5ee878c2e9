"""`fleet plan NAME` and `fleet plan diff A B`: the NUMA plan of a machine, with reasons."""

from __future__ import annotations

import json as json_text
from dataclasses import asdict
from importlib import import_module
from pathlib import Path  # noqa: TC003  # typer reads the annotation
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from fleet.cli.place import ROOT
from fleet.cli.printing import refuse, show


class ShowByDefault(TyperGroup):
    """`fleet plan dgx-h200` is `fleet plan show dgx-h200`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # typer hides the types of click
        """Puts `show` before words that begin with no command."""
        known = args and args[0] in self.commands
        return super().resolve_command(ctx, args if known else ["show", *args])


plan = typer.Typer(cls=ShowByDefault, help="Show the NUMA plan of a machine, with reasons.")
Json = Annotated[bool, typer.Option("--json", help="Print JSON alone.")]
NAME_HELP = "A machine of the catalogue such as dgx-h200, or a pool such as prod/dgx."


@plan.command("show")
def show_plan(
    name: Annotated[str, typer.Argument(metavar="NAME", help=NAME_HELP)],
    *,
    purpose: Annotated[
        str | None, typer.Option(help="training, inference or batch; a pool has its own.")
    ] = None,
    choices: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A choice of the tuning; repeatable."),
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the machine there, too.")
    ] = None,
    json: Json = False,
) -> None:
    """Show what follows from a machine's wiring and a purpose: each line with reason and source.

    Exit code 2 where there is no such machine or it cannot carry the choices.
    """
    subjects = import_module("fleet.plan.subject")  # here, so that `fleet --help` need not wait
    try:
        subject = subjects.subject(ROOT, name, purpose, choices or ())
    except subjects.SubjectError as error:
        refuse(error)
    if svg is not None:
        svg.write_text(import_module("fleet.plan.drawing").draw(subject))
    described = import_module("fleet.plan.description").describe(subject)
    if json:
        typer.echo(json_text.dumps(described, indent=2))
    else:
        show(import_module("fleet.plan.tables").plan_table(described))


@plan.command("diff")
def diff(
    before: Annotated[
        str, typer.Argument(metavar="A", help=f"{NAME_HELP[:-1]}, or a --json file.")
    ],
    after: Annotated[str, typer.Argument(metavar="B", help="The same kinds of names.")],
    *,
    json: Json = False,
) -> None:
    """Show what a change of plan does to a node, and whether it needs a reboot."""
    differences = import_module("fleet.plan.difference")
    try:
        found = differences.difference(
            differences.description(ROOT, before), differences.description(ROOT, after)
        )
    except import_module("fleet.plan.subject").SubjectError as error:
        refuse(error)
    if json:
        typer.echo(json_text.dumps(_plain(found), indent=2))
    else:
        show(import_module("fleet.plan.tables").difference_table(found))


def _plain(found: Any) -> dict[str, Any]:
    return {"reboot": found.reboot, "changes": [asdict(change) for change in found.changes]}
