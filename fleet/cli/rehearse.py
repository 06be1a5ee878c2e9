"""`fleet rehearse ENV`: the real engine and a real control plane on this machine, no account."""

from pathlib import Path
from typing import Annotated

import typer

from fleet.cli.place import ROOT, Environment


def rehearse(  # noqa: PLR0913  # an option each
    environment: Environment,
    *,
    all_of_it: Annotated[
        bool, typer.Option("--all", help="Print every rule, resource and chart by name.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the cluster running; `rehearse-stop` ends it.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Update the kept cluster to the edited stack file.")
    ] = False,
    charts: Annotated[
        Path | None,
        typer.Option(
            "--charts",
            metavar="DIR",
            help="A folder with Helm charts, as `helm pull` writes them, to render from.",
            exists=True,
            file_okay=False,
        ),
    ] = None,
) -> None:
    """Bring up an environment on this machine, no account.

    Runs the environment's program with the real Pulumi engine against a real Kubernetes control
    plane, boots its simulated machines, runs a GPU job on them and prints a report of about twenty
    lines. `fleet report ENV` prints it again.

    \b
    Examples:
      fleet rehearse dev
      fleet rehearse dev --keep
      fleet rehearse dev --again

    Exit code 1 if something fails or breaks a rule, 2 if there is no such environment.
    """
    from rehearsal import cli

    raise typer.Exit(
        cli.rehearse(
            ROOT,
            environment,
            as_json=json,
            keep=keep,
            again=again,
            whole=all_of_it,
            charts=charts,
        )
    )
