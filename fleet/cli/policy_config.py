"""`fleet policy-config ENV`: what `pulumi --policy-pack-config` wants of an environment."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Annotated

import typer

from fleet.cli.place import ROOT


def policy_config(
    environment: Annotated[str, typer.Argument(metavar="ENV", help="Such as dev or prod.")],
) -> None:
    """Print the settings of an environment's rules as `pulumi --policy-pack-config` reads them."""
    settings = import_module("fleet.settings")  # here, so that `fleet --help` need not wait
    configuration = import_module("policies.configuration")
    gate = import_module("policies.gates.plan")
    try:
        found = settings.load(settings.stack_file(ROOT, environment))
        typer.echo(json.dumps(gate.pack_config(found.policies), indent=2))
    except (settings.SettingsError, configuration.PolicyConfigError) as error:
        typer.secho(str(error), fg="red", err=True)
        raise typer.Exit(1) from None
