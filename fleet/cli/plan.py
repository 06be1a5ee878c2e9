"""`fleet plan MACHINE` and `fleet plan diff A B`: the NUMA plan of a machine, with reasons."""

import json as json_text
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from fleet.cli.command import Command
from fleet.cli.completing import machines_and_pools
from fleet.cli.place import MACHINE_HELP, ROOT, Choices, Json, MachineOrPool, Purpose
from fleet.cli.printing import refuse, show

HELP = """\
Show the NUMA plan of a machine, or what a change of plan does.

\b
Examples:
  fleet plan dgx-h200 --purpose inference  # each line with reason and source
  fleet plan prod/dgx --set iommu=off      # a pool, with another choice
  fleet plan dgx-h200 --svg dgx.svg        # draw the machine, too
  fleet plan diff dgx-h200 prod/dgx        # what changes on a node

`fleet plan show --help` lists the options: --purpose, --set, --svg, --json.
"""


class ShowByDefault(TyperGroup):
    """`fleet plan dgx-h200` means `fleet plan show dgx-h200`, also with an option first."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:  # typer hides the types of click
        """Put `show` before words that do not begin with a command."""
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            args = ["show", *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """The names that may follow at once, besides the commands and options."""
        name, *_ = self.commands["show"].params
        return [*super().shell_complete(ctx, incomplete), *name.shell_complete(ctx, incomplete)]

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ARG002  # typer gives it
        """The form that people type, in the usage line."""
        return ["MACHINE|ENV/POOL", "[--purpose PURPOSE]", "[--set KEY=VALUE]", "| diff A B"]


plan = typer.Typer(
    cls=ShowByDefault,
    help=HELP,
    short_help="Show the NUMA plan of a machine, with reasons.",
    no_args_is_help=True,
)


@plan.command("show", cls=Command)
def show_plan(
    name: MachineOrPool,
    *,
    purpose: Purpose = None,
    choices: Choices = None,
    svg: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also draw the machine, as SVG.")
    ] = None,
    json: Json = False,
) -> None:
    """Show a plan: each line with its reason and source.

    `show` may be left out.

    \b
    Examples:
      fleet plan dgx-h200 --purpose inference
      fleet plan prod/dgx --set iommu=off
      fleet plan dgx-h200 --svg dgx.svg

    Exit code 2 if there is no such machine, or if it cannot carry the choices.
    """
    from fleet.plan.description import describe
    from fleet.plan.drawing import draw
    from fleet.plan.subject import SubjectError, subject
    from fleet.plan.tables import plan_table

    try:
        found = subject(ROOT, name, purpose, choices or ())
    except SubjectError as error:
        refuse(error)
    if svg is not None:
        svg.write_text(draw(found))
    described = describe(found)
    if json:
        typer.echo(json_text.dumps(described, indent=2))
    else:
        show(plan_table(described))


@plan.command("diff", cls=Command)
def diff(
    before: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help=f"{MACHINE_HELP[:-1]}, or a file of --json.",
            autocompletion=machines_and_pools,
        ),
    ],
    after: Annotated[
        str, typer.Argument(metavar="B", help="Likewise.", autocompletion=machines_and_pools)
    ],
    *,
    json: Json = False,
) -> None:
    """Show what changes on a node, and if it needs a reboot.

    \b
    Examples:
      fleet plan diff dgx-h200 prod/dgx
      fleet plan diff before.json prod/dgx

    Exit code 2 if there is no such machine.
    """
    from fleet.plan.difference import description, difference
    from fleet.plan.subject import SubjectError
    from fleet.plan.tables import difference_table

    try:
        found = difference(description(ROOT, before), description(ROOT, after))
    except SubjectError as error:
        refuse(error)
    if json:
        changes = [asdict(change) for change in found.changes]
        typer.echo(json_text.dumps({"reboot": found.reboot, "changes": changes}, indent=2))
    else:
        show(difference_table(found))
