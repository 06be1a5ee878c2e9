"""`fleet policy-config ENV`: what `pulumi --policy-pack-config` needs for an environment."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Annotated

import typer

from fleet.cli.place import ROOT


def policy_config(
    environment: Annotated[str, typer.Argument(metavar="ENV", help="Such as dev or prod.")],
) -> None:
    """Print the configuration of the policy pack for an environment, as JSON.

    Exit code 1 when its stack file does not hold, 2 when there is none.
    """
    environments = import_module("policies.environment")
    settings = import_module("settings")  # here, so that `fleet --help` need not wait
    configuration = import_module("policies.configuration")
    gate = import_module("policies.gates.pack_config")
    code = 2
    try:
        path = settings.stack_file(ROOT, environment)
        code = 1
        config = gate.pack_config(environments.load(path).rule_settings)
    except (settings.SettingsError, configuration.PolicyConfigError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(code) from error
    typer.echo(json.dumps(config, indent=2))
