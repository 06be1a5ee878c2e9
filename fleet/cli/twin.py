"""`fleet twin ENV PROGRAM …`: kubectl and pulumi in the environment of a kept rehearsal."""

from typing import Annotated

import typer

from fleet.cli import completing
from fleet.cli.place import ROOT, Environment


def twin(
    environment: Environment,
    program: Annotated[
        str,
        typer.Argument(
            metavar="PROGRAM", help="kubectl or pulumi.", autocompletion=completing.programs
        ),
    ],
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="ARGS", help="The program's own arguments.")
    ] = None,
) -> None:
    """Run kubectl or pulumi on a kept rehearsal.

    `fleet rehearse ENV --keep` keeps one. Your shell keeps its own settings. `pulumi up` and
    `preview` use the twin's copy of the stack file, and hold the rules.

    \b
    Examples:
      fleet twin dev kubectl get nodes
      fleet twin dev pulumi preview --diff

    Exit code of the program; 1 if no rehearsal is kept, 2 if there is no such environment.
    """
    from rehearsal import cli

    raise typer.Exit(cli.twin(ROOT, environment, program, arguments or ()))
