"""`fleet rehearse ENV`: the real engine and a real control plane on this machine, no account."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

from fleet.cli.place import ROOT


def rehearse(
    environment: Annotated[str, typer.Argument(metavar="ENV", help="Such as dev or prod.")],
    *,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON alone.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the cluster up afterwards.")] = False,
) -> None:
    """Run an environment's program against a real Kubernetes control plane on this machine.

    Exit code 0 when it holds, 1 when it does not, 2 when there is no such environment.
    """
    command = import_module("rehearsal.cli")  # here, so that `fleet --help` need not wait
    raise typer.Exit(command.rehearse(ROOT, environment, as_json=json, keep=keep))
