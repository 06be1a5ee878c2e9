"""`fleet render ENV --out DIR`: each pool's Butane source and Ignition as files."""

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from fleet.cli.place import ROOT, Environment
from fleet.cli.printing import refuse


def render(
    environment: Environment,
    *,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder to write to; made if missing.")
    ],
    json: Annotated[bool, typer.Option("--json", help="Print the file names as JSON.")] = False,
) -> None:
    """Write each pool's boot data, secrets masked.

    Makes a folder for each pool with butane.yaml, ignition.json, join.json and user-data.json.

    \b
    Example:
      fleet render prod --out boot-data

    Exit code 2 if there is no such environment or the folder cannot be written.
    """
    from fleet.render import OutputError
    from fleet.render import render as write
    from settings import SettingsError

    try:
        written = write(ROOT, environment, out)
    except (SettingsError, OutputError) as error:
        refuse(error)
    names = [str(path) for path in written]
    typer.echo(json_text.dumps(names, indent=2) if json else "\n".join(names))
