"""`fleet destroy ENV`: takes an environment down and counts what is left."""

from typing import Annotated

import typer

from fleet.cli.place import ROOT, Environment


def destroy(
    environment: Environment,
    *,
    lift: Annotated[
        list[str] | None,
        typer.Option(
            "--lift",
            metavar="PART",
            help="Also take this protected part: a pool of yours, teams, monitoring, lakefs; "
            "repeatable.",
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask for the environment's name.")
    ] = False,
) -> None:
    """Take an environment down, rented machines first.

    Sets the limits of Karpenter's NodePools to 0, waits until its last machine is drained and
    ended, runs `pulumi destroy` in the order of docs/decisions/0016, and counts what is left.
    Protected parts stay unless they are named. A run that was ended goes on when it is started
    again.

    \b
    Examples:
      fleet destroy dev
      fleet destroy dev --lift dgx --lift lakefs

    Exit code 1 if something is left or AWS could not be asked, 2 if nothing was begun.
    """
    from fleet.destroy.command import Wanted, command

    raise typer.Exit(command(ROOT, environment, Wanted(lift=lift or (), yes=yes)))
