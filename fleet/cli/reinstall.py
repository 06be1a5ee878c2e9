"""`fleet reinstall ENV POOL [MACHINE…]`: machines get image and plan of the stack file."""

from typing import Annotated

import typer

from fleet.cli.completing import pool_machines, pools
from fleet.cli.place import ROOT, Environment


def reinstall(  # noqa: PLR0913  # an option each
    environment: Environment,
    pool: Annotated[
        str,
        typer.Argument(metavar="POOL", help="A pool of bare-metal machines.", autocompletion=pools),
    ],
    machines: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MACHINE",
            help="Default: all that are not as they should be.",
            autocompletion=pool_machines,
        ),
    ] = None,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before the first one.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done.")] = False,
    again: Annotated[
        bool,
        typer.Option("--again", help="Also machines that have this image and plan already."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Reinstall bare-metal machines, one at a time.

    Drains each machine, has Metal3 wipe and install it, waits until its node is Ready and checked,
    measures it, and lets pods on it. Jobs are waited for, never ended. The cluster keeps the state:
    a run that was ended goes on when it is started again. Acts by your own kubeconfig (KUBECONFIG).

    \b
    Examples:
      fleet reinstall prod dgx --dry-run
      fleet reinstall prod dgx dgx-03 dgx-04

    Exit code 1 if a machine fails, 2 if nothing was begun.
    """
    from fleet.reinstall.command import Wanted, command

    wanted = Wanted(machines=machines or (), yes=yes, dry_run=dry_run, again=again, as_json=json)
    raise typer.Exit(command(ROOT, environment, pool, wanted))
