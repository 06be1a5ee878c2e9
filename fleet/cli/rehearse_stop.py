"""`fleet rehearse-stop ENV`: ends a rehearsal that runs or was kept."""

from typing import Annotated

import typer

from fleet.cli.place import ENVIRONMENT_HELP, ROOT


def rehearse_stop(
    environment: Annotated[str, typer.Argument(metavar="ENV", help=ENVIRONMENT_HELP)],
) -> None:
    """End a rehearsal that runs or was kept.

    Ends every process that it started.
    """
    from rehearsal import cli

    raise typer.Exit(cli.rehearse_stop(ROOT, environment))
