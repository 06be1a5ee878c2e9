"""`fleet preview ENV`: what `make up` would change in the accounts of an environment."""

from pathlib import Path
from typing import Annotated

import typer

from fleet.cli.place import ROOT, Environment, Json


def preview(  # noqa: PLR0913  # an option each
    environment: Environment,
    *,
    json: Json = False,
    markdown: Annotated[
        Path | None,
        typer.Option("--markdown", metavar="FILE", help="Also write the summary as Markdown."),
    ] = None,
    sarif: Annotated[
        Path | None,
        typer.Option(
            "--sarif", metavar="FILE", help="Also write the findings as SARIF, for code scanning."
        ),
    ] = None,
    rehearsal: Annotated[
        Path | None,
        typer.Option(
            "--rehearsal", metavar="FILE", help="Also show this report of `fleet rehearse --json`."
        ),
    ] = None,
    docs: Annotated[
        str, typer.Option("--docs", metavar="ADDRESS", help="Page of all rules, for links.")
    ] = "docs/policies.md",
) -> None:
    """Show what `make up` would change, and its cost.

    Runs `pulumi preview` with the rules and prints one screen: pools, broken rules, USD a day.

    \b
    Examples:
      fleet preview prod
      fleet preview prod --markdown comment.md --sarif findings.sarif

    Exit code 1 if the preview fails or breaks a rule, 2 if there is no such environment.
    """
    from fleet.preview import command

    wanted = command.Wanted(
        as_json=json, markdown=markdown, sarif=sarif, rehearsal=rehearsal, docs=docs
    )
    raise typer.Exit(command.preview(ROOT, environment, wanted))
