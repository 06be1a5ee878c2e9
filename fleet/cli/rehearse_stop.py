"""`fleet rehearse-stop ENV`: ends a rehearsal that runs or was kept."""

import typer

from fleet.cli.place import ROOT, Environment


def rehearse_stop(
    environment: Environment,
) -> None:
    """End a rehearsal that runs or was kept.

    Ends every process that it started.

    \b
    Example:
      fleet rehearse-stop dev
    """
    from rehearsal import cli

    raise typer.Exit(cli.rehearse_stop(ROOT, environment))
