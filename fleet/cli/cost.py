"""`fleet cost ENV`: what the pools of an environment cost, and what a setting would change."""

import gc
import json as json_text
from typing import Annotated

import typer

from fleet.cli.place import JSON_HELP, ROOT, Environment
from fleet.cli.printing import refuse, show, working


def cost(
    environment: Environment,
    *,
    tried: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Try a setting: before and after. Repeatable."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help=JSON_HELP)] = False,
) -> None:
    """Show what the pools of an environment cost.

    At the prices of the hardware catalogue, by the formula of the cost rules; no account.

    \b
    Examples:
      fleet cost prod
      fleet cost prod --set pools.cpu.nodes=12

    Exit code 2 if the environment or a setting cannot be read.
    """
    gc.disable()  # as in `fleet validate`
    with working("counting"):
        from fleet.cost.costs import costs
        from fleet.cost.settings_tried import TriedError, environment_with
        from settings import SettingsError, stack_file

        try:
            path = stack_file(ROOT, environment)
            now = environment_with(path, ())
            found = costs(now, environment_with(path, tried) if tried else now)
        except (SettingsError, TriedError) as error:
            refuse(error)
    if json:
        typer.echo(json_text.dumps(found.as_json(), indent=2))
        return
    from fleet.cost.tables import render

    show(render(found))
