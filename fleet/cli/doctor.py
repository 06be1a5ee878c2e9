"""`fleet doctor [ENV]`: what is missing on this machine, and the command that mends it."""

import json as json_text
from dataclasses import asdict
from typing import Annotated

import typer

from fleet.cli.completing import environments
from fleet.cli.place import ENVIRONMENT_HELP, ROOT, Json
from fleet.cli.printing import refuse, show


def doctor(
    environment: Annotated[
        str | None,
        typer.Argument(
            metavar="ENV",
            help=f"{ENVIRONMENT_HELP[:-1]}. Without it: what plans and rehearsals need.",
            autocompletion=environments,
        ),
    ] = None,
    *,
    online: Annotated[
        bool, typer.Option("--online", help="Also ask AWS and the API server.")
    ] = False,
    json: Json = False,
) -> None:
    """Say what is missing on this machine, and how to mend it.

    Looks at Python, disk, memory, the programs of a rehearsal, and for an environment at login,
    passphrase, secrets and credentials. Reads no secret; without --online it asks nobody.

    \b
    Examples:
      fleet doctor
      fleet doctor prod --online

    Exit code 1 if something is missing that is needed, 2 if there is no such environment.
    """
    from fleet.doctor.account import of_account
    from fleet.doctor.machine import of_machine
    from fleet.doctor.online import of_network
    from fleet.doctor.table import doctor_table
    from settings import SettingsError
    from toolchain.layout import Layout

    try:
        findings = [*of_machine(ROOT, Layout()), *of_account(ROOT, environment)]
        findings += of_network(ROOT, environment) if online else ()
    except SettingsError as error:
        refuse(error)
    if json:
        told = [{**asdict(each), "missing": each.missing} for each in findings]
        typer.echo(json_text.dumps(told, indent=2))
    else:
        show(doctor_table(findings, environment))
    raise typer.Exit(int(any(each.missing for each in findings)))
