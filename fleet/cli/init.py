"""`fleet init NAME`: the stack file of a new environment, from flags or from questions."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fleet.cli.completing import machines
from fleet.cli.place import ROOT
from fleet.cli.printing import refuse

if TYPE_CHECKING:
    from fleet.init.answers import Answers
    from fleet.init.writing import Written


def init(  # noqa: PLR0913  # an option each
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Name of the new environment.")
    ] = None,
    *,
    own: Annotated[
        str | None,
        typer.Option(
            metavar="MACHINE",
            help="Machines that you own, such as dgx-h200.",
            autocompletion=machines,
        ),
    ] = None,
    inventory: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The machines that you own: CSV or YAML as of `inventory:`, or BareMetalHosts "
            "as `kubectl get baremetalhosts -A -o yaml` prints them.",
        ),
    ] = None,
    site: Annotated[str, typer.Option(metavar="NAME", help="Where they are.")] = "hall",
    aws: Annotated[
        str | None,
        typer.Option(
            metavar="MACHINE",
            help="Machines to rent in AWS, such as p5e.48xlarge.",
            autocompletion=machines,
        ),
    ] = None,
    region: Annotated[str, typer.Option(metavar="REGION", help="Of AWS.")] = "us-east-1",
    location: Annotated[
        str, typer.Option(metavar="LOCATION", help="Of the CPU servers at Hetzner.")
    ] = "hel1",
    servers: Annotated[int, typer.Option(metavar="N", help="How many of them.")] = 3,
    team: Annotated[str, typer.Option(metavar="NAME", help="The first team.")] = "research",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Write over files that are there.")
    ] = False,
) -> None:
    """Write the stack file of a new environment.

    On a terminal, without --own and --aws, it asks. The file is valid and has a comment for each
    part; what only you know, such as addresses, is a placeholder with REPLACE. Prints what to do
    next.

    \b
    Examples:
      fleet init
      fleet init lab --own dgx-h200 --inventory machines.csv
      fleet init burst --aws p5en.48xlarge --region eu-central-1 --team trading

    Exit code 2 if nothing was written.
    """
    from fleet.init.answers import AnswerError, Answers, Owned, Rented
    from fleet.init.machines import read_machines
    from fleet.init.writing import write

    try:
        if own is None and aws is None:
            if inventory is not None:
                refuse(f"--inventory {inventory} needs --own with the machine of the catalogue.")
            answers = _asked(name)
        elif name is None:
            refuse("The new environment has no name: `fleet init NAME` with these options.")
        else:
            entries = read_machines(inventory) if inventory else ()
            answers = Answers(
                name=name,
                team=team,
                owned=Owned(hardware=own, site=site, machines=entries) if own else None,
                rented=Rented(hardware=aws, region=region) if aws else None,
                location=location,
                servers=servers,
            )
        written = write(ROOT, answers, overwrite=overwrite)
    except AnswerError as error:
        refuse(error)
    _say(answers.name, written)


def _asked(name: str | None) -> "Answers":
    from fleet.init.questions import ask

    if not is_terminal():
        refuse(
            "Nothing is known of the machines, and this is no terminal to ask on: give --own "
            "MACHINE with --inventory FILE, or --aws MACHINE (`fleet init --help`)."
        )
    return ask(name)


def is_terminal() -> bool:
    """Return whether somebody can answer questions."""
    return sys.stdin.isatty()


def _say(name: str, written: "Written") -> None:
    typer.echo(f"Wrote {' and '.join(written.files)}.\n\nReplace the placeholders:")
    for each in written.placeholders:
        typer.echo(f"  {each.file}:{each.line}: {each.what}")
    typer.echo(
        "\nThen:\n"
        f"  fleet validate {name}    # is everything allowed, do the rules hold\n"
        f"  fleet rehearse {name}    # bring it up here, without an account\n"
        "docs/real-account.md leads from there to a running cluster. "
        f"For pull requests, add {name} to the matrix of .github/workflows/preview.yml and a job "
        "to up.yml."
    )
