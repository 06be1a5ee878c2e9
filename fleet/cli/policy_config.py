"""`fleet policy-config ENV`: what `pulumi --policy-pack-config` needs for an environment."""

import json

import typer

from fleet.cli.place import ROOT, Environment


def policy_config(
    environment: Environment,
) -> None:
    """Print the policy pack's configuration as JSON.

    `pulumi preview --policy-pack policies --policy-pack-config FILE` reads it.

    \b
    Example:
      fleet policy-config dev

    Exit code 1 if the stack file has mistakes, 2 if there is none.
    """
    from policies.configuration import PolicyConfigError
    from policies.environment import load
    from policies.gates.pack_config import pack_config
    from settings import SettingsError, stack_file

    code = 2
    try:
        path = stack_file(ROOT, environment)
        code = 1
        config = pack_config(load(path).rule_settings)
    except (SettingsError, PolicyConfigError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(code) from error
    typer.echo(json.dumps(config, indent=2))
