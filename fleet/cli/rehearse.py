"""`fleet rehearse ENV`: the real engine and a real control plane on this machine, no account."""

from pathlib import Path
from typing import Annotated

import typer

from fleet.cli.place import ROOT, Environment
from fleet.cli.printing import refuse

MOST_KILLS, LARGEST_SEED = 1_000, 999_999_999


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
    before: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="REF",
            help="Rehearse the change from this commit, with running jobs; `deployed` is the "
            "commit of the stack's last update.",
        ),
    ] = None,
    jobs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The jobs that run, with --from: what `kubectl get jobs,vcjob,pods -A -o yaml` "
            "prints. Default: those of workloads/smoke, and others on the owned GPUs left.",
        ),
    ] = None,
    kills: Annotated[
        str | None,
        typer.Option(
            "--kills",
            metavar="N",
            help="Kill the engine N times on the way, and each controller once.",
        ),
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option("--seed", metavar="NUMBER", help="Kill at the steps of an earlier run."),
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            "--fault",
            metavar="KIND@SECONDS",
            help="Put a fault in, 0 to 600 seconds after two gangs run: spot, node, link, etcd, "
            "api, boot or capacity. May be given several times.",
        ),
    ] = None,
    destroy: Annotated[
        bool, typer.Option("--destroy", help="Take everything down in the end.")
    ] = False,
) -> None:
    """Bring up an environment on this machine, no account.

    Runs the environment's program with the real Pulumi engine against a real Kubernetes control
    plane, boots its simulated machines, runs a few GPU jobs on them and prints a report of one or
    two screens. `fleet report ENV` prints it again.

    \b
    Examples:
      fleet rehearse dev
      fleet rehearse dev --keep
      fleet rehearse dev --again
      fleet rehearse prod --from origin/main
      fleet rehearse dev --kills 3 --destroy
      fleet rehearse dev --fault spot@5

    Exit code 1 if something fails, breaks a rule or ends more jobs than allowed, 2 if there is no
    such environment or commit, or options do not go together, 3 if the change cannot be rehearsed
    from that commit: it has other packages, settings that this program refuses or other ranges of
    addresses, or does not come up. Without --from the environment may still be rehearsed.
    """
    from secrets import randbelow

    from fleet.in_twin import extras
    from rehearsal import cli
    from rehearsal.errors import RehearsalError
    from rehearsal.faults.asked import asked

    try:
        faults = asked(fault or ())
    except RehearsalError as error:
        refuse(str(error))
    if faults and (again or before):
        refuse("--fault needs a twin of its own, without --again and --from.")
    times = _whole("--kills", kills, MOST_KILLS) or 0
    if times and (again or before):
        refuse("--kills needs a twin that begins empty: leave out --again and --from.")
    if destroy and (keep or again):
        refuse("--destroy takes everything down: leave out --keep and --again.")
    if seed is not None and not times:
        refuse("--seed says at which steps --kills kills: it needs --kills.")
    chosen = _whole("--seed", seed, LARGEST_SEED)
    if chosen is None:
        chosen = randbelow(10_000)
    given = extras(kills=times, seed=chosen, destroy=destroy, faults=faults)
    raise typer.Exit(
        cli.rehearse(
            ROOT,
            environment,
            as_json=json,
            keep=keep,
            again=again,
            whole=all_of_it,
            charts=charts,
            before=before,
            jobs=jobs,
            extras=given,
        )
    )


def _whole(option: str, text: str | None, most: int) -> int | None:
    """Return what an option says; refuse what is not a whole number of 0 to `most`."""
    if text is None:
        return None
    if not (
        text.isascii() and text.isdigit() and len(text) <= len(str(most)) and int(text) <= most
    ):
        refuse(f'{option} is "{text}"; allowed: a whole number of 0 to {most:,}.')
    return int(text)
