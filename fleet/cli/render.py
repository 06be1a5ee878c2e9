"""`fleet render ENV --out DIR`: each pool's Butane source and Ignition as files."""

from __future__ import annotations

import json as json_text
from importlib import import_module
from pathlib import Path  # noqa: TC003  # typer reads the annotation
from typing import Annotated

import typer

from fleet.cli.place import ROOT
from fleet.cli.printing import refuse


def render(
    environment: Annotated[str, typer.Argument(metavar="ENV", help="Such as dev or prod.")],
    *,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A folder; made if missing.")],
    json: Annotated[bool, typer.Option("--json", help="Print the files as JSON alone.")] = False,
) -> None:
    """Write what the machines of an environment boot with, secrets masked: a folder for each pool.

    Exit code 2 where there is no such environment or the folder cannot be written.
    """
    rendering = import_module("fleet.render")  # here, so that `fleet --help` need not wait
    settings = import_module("settings")
    try:
        written = rendering.render(ROOT, environment, out)
    except (settings.SettingsError, rendering.OutputError) as error:
        refuse(error)
    names = [str(path) for path in written]
    typer.echo(json_text.dumps(names, indent=2) if json else "\n".join(names))
