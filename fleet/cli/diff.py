"""`fleet diff ENV`: what a changed stack file does to machines, rules and cost; no account."""

import gc
import json as json_text
from typing import Annotated

import typer

from fleet.cli.place import JSON_HELP, ROOT, Environment
from fleet.cli.printing import refuse, show, working


def diff(
    environment: Environment,
    *,
    against: Annotated[
        str,
        typer.Option(
            "--against", metavar="REF", help="A commit, branch or tag, or another stack file."
        ),
    ] = "HEAD",
    json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown, as for a pull request.")
    ] = False,
) -> None:
    """Compare a stack file with its last commit.

    Pools, machines that are replaced or drained, rules and USD a day. Needs no build, no account
    and no network.

    \b
    Examples:
      fleet diff dev
      fleet diff prod --against main

    Exit code 1 if a rule that held is broken, 2 if one of the two cannot be read.
    """
    if json and markdown:
        refuse("--json and --markdown are two forms of a change: choose one.")
    gc.disable()  # as in `fleet validate`
    with working("comparing"):
        from fleet.diff.comparison import compare
        from fleet.diff.versions import VersionError, version
        from policies.environment import load
        from settings import SettingsError, stack_file

        try:
            after = load(stack_file(ROOT, environment))
            found = compare(version(ROOT, environment, against), after, against)
        except (SettingsError, VersionError) as error:
            refuse(error)
    if json:
        typer.echo(json_text.dumps(found.as_json(), indent=2))
    elif markdown:
        from fleet.diff.markdown import markdown as as_markdown

        typer.echo(as_markdown(found), nl=False)
    else:
        from fleet.diff.tables import render

        show(render(found))
    raise typer.Exit(int(not found.holds))
