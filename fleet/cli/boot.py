"""`fleet boot FILE`: the Node that a machine becomes with an Ignition file, or its problems."""

from __future__ import annotations

import json as json_text
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from fleet.cli.printing import refuse, show


def boot(
    source: Annotated[str, typer.Argument(metavar="FILE", help="Ignition JSON; - is stdin.")],
    *,
    hardware: Annotated[
        str, typer.Option(metavar="NAME", help="A machine of the catalogue such as dgx-h200.")
    ],
    fetch: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL=FILE", help="What the machine would fetch from a URL; repeatable."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON alone.")] = False,
) -> None:
    """Boot a machine from the whole of its boot data, as it would: the Node, or the problems.

    Exit code 1 when the machine would not come up, 2 when the file cannot be read or there is no
    such machine.
    """
    booting = import_module("fleet.boot")  # here, so that `fleet --help` need not wait
    try:
        text = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        booted = booting.booted(text.decode(), hardware, _fetched(fetch or []))
    except OSError as error:
        refuse(f"{error.filename or source} cannot be read: {error.strerror}")
    except UnicodeDecodeError:
        refuse(f"{source} is no text; give Ignition JSON")
    except booting.BootInputError as error:
        refuse(error)
    if json:
        typer.echo(json_text.dumps(booting.as_json(booted), indent=2))
    else:
        show(booting.table(booted, hardware))
    raise typer.Exit(1 if booted.problems else 0)


def _fetched(given: list[str]) -> dict[str, bytes]:
    found = {}
    for each in given:
        url, equals, file = each.rpartition("=")
        if not equals or not url or not file:
            refuse(f'--fetch is "{each}"; allowed: URL=FILE')
        found[url] = Path(file).read_bytes()
    return found
