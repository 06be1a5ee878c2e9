"""`fleet preview ENV`: what `make up` would change in the accounts of an environment."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path  # noqa: TC003  # typer reads the annotation
from typing import Annotated

import typer

from fleet.cli.place import ROOT


def preview(  # noqa: PLR0913  # an option each
    environment: Annotated[str, typer.Argument(metavar="ENV", help="Such as dev or prod.")],
    *,
    json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON alone.")] = False,
    markdown: Annotated[
        Path | None,
        typer.Option("--markdown", metavar="FILE", help="Write the Markdown there, too."),
    ] = None,
    sarif: Annotated[
        Path | None,
        typer.Option(
            "--sarif", metavar="FILE", help="Write what the rules found there, for code scanning."
        ),
    ] = None,
    rehearsal: Annotated[
        Path | None,
        typer.Option("--rehearsal", metavar="FILE", help="Show this report of a rehearsal, too."),
    ] = None,
    docs: Annotated[
        str, typer.Option("--docs", metavar="ADDRESS", help="Where the page of all rules is.")
    ] = "docs/policies.md",
) -> None:
    """Show on one screen what an update would change, which rules hold and what it costs.

    Exit code 0 when it holds, 1 when it does not, 2 when there is no such environment.
    """
    command = import_module("fleet.preview.command")  # here, so that `fleet --help` need not wait
    wanted = command.Wanted(
        as_json=json, markdown=markdown, sarif=sarif, rehearsal=rehearsal, docs=docs
    )
    raise typer.Exit(command.preview(ROOT, environment, wanted))
