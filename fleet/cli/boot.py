"""`fleet boot FILE`: the Node that a machine becomes with an Ignition file, or what stops it."""

import json as json_text
import sys
from pathlib import Path
from typing import Annotated

import typer

from fleet.cli.completing import machines
from fleet.cli.place import Json
from fleet.cli.printing import refuse, show


def boot(
    source: Annotated[
        str, typer.Argument(metavar="FILE", help="Ignition JSON; - reads standard input.")
    ],
    *,
    hardware: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="A machine of the catalogue, such as dgx-h200.",
            autocompletion=machines,
        ),
    ],
    fetch: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL=FILE",
            help="Use FILE for what the machine would download from URL; repeatable.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Simulate the first boot from an Ignition file.

    Prints the Node that the machine becomes, or what stops it. `fleet render` writes such a file
    for each pool: user-data.json.

    \b
    Example:
      fleet boot boot-data/dgx/user-data.json --hardware dgx-h200

    Exit code 1 if the machine would not come up, 2 if the file cannot be read or the catalogue has
    no such machine.
    """
    from fleet.boot import BootInputError, as_json, booted, booted_table

    try:
        text = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        found = booted(text.decode(), hardware, _fetched(fetch or []))
    except OSError as error:
        refuse(f"{error.filename or source} cannot be read: {error.strerror}")
    except UnicodeDecodeError:
        refuse(f"{source} is no text; give Ignition JSON")
    except BootInputError as error:
        refuse(error)
    if json:
        typer.echo(json_text.dumps(as_json(found), indent=2))
    else:
        show(booted_table(found, hardware))
    raise typer.Exit(1 if found.problems else 0)


def _fetched(given: list[str]) -> dict[str, bytes]:
    found = {}
    for each in given:
        url, equals, file = each.rpartition("=")
        if not equals or not url or not file:
            refuse(f'--fetch is "{each}"; allowed: URL=FILE')
        found[url] = Path(file).read_bytes()
    return found
