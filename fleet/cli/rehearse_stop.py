"""`fleet rehearse-stop ENV`: ends a rehearsal that runs or was kept."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

from fleet.cli.place import ROOT


def rehearse_stop(
    environment: Annotated[str, typer.Argument(metavar="ENV", help="Such as dev or prod.")],
) -> None:
    """End a rehearsal that runs or was kept, with everything that it started."""
    command = import_module("rehearsal.cli")  # here, so that `fleet --help` need not wait
    raise typer.Exit(command.rehearse_stop(ROOT, environment))
