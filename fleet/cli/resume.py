"""`fleet resume ENV`: goes on after an update that was killed."""

from typing import Annotated

import typer

from fleet.cli.place import ROOT, Environment
from fleet.cli.printing import refuse


def resume(
    environment: Environment,
    *,
    ids: Annotated[
        list[str] | None,
        typer.Option(
            "--id",
            metavar="NAME=ID",
            help="A pending resource is in its cloud with this id; repeatable, for one that was "
            "made twice, too.",
        ),
    ] = None,
    gone: Annotated[
        list[str] | None,
        typer.Option(
            "--gone",
            metavar="NAME",
            help="A pending resource is not in its cloud; repeatable.",
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Ask nothing; neither does `pulumi up`.")
    ] = False,
) -> None:
    """Go on after an update that was killed.

    Looks each resource that was being made up in its cloud by its unique name, opens the lock of
    the stack, puts what is there into the state, forgets what is not, and runs `pulumi up`. A run
    that was ended goes on when it is started again. Where nothing is pending it says so and ends.

    The lock of a process that runs on this machine is not opened. That of another machine is told
    with its age, and a person is asked; with --yes it is opened only when neither it nor the state
    was written for 30 minutes.

    \b
    Examples:
      fleet resume dev
      fleet resume dev --id cpu-1=4711 --gone cpu-2

    Exit code 0 if nothing is pending, 2 if it ends before it has changed anything (bad input, what
    cannot be looked up, a lock that is in use, your no), 1 if it fails after that, else that of
    `pulumi up`.
    """
    from fleet.resume.command import Wanted, command

    given: dict[str, list[str]] = {}
    for each in ids or ():
        name, _, id_ = each.partition("=")
        if not (name and id_):
            refuse(f'--id is "{each}"; it must be NAME=ID.')
        given.setdefault(name, []).append(id_)
    if "" in (gone or ()):
        refuse('--gone is ""; it must be NAME.')
    raise typer.Exit(command(ROOT, environment, Wanted(yes=yes, ids=given, gone=gone or ())))
