"""`fleet envs`: the environments of the checkout, with their pools, nodes, GPUs and kept twins."""

import json as json_text

import typer

from fleet.cli.place import ROOT, Json
from fleet.cli.printing import refuse, show


def envs(*, json: Json = False) -> None:
    """List environments, pools, nodes and GPUs.

    Says too which rehearsals are kept running, and which stack files have mistakes. "up to" is the
    most that Karpenter may rent when jobs need it; other pools are always on.

    \b
    Examples:
      fleet envs
      fleet envs --json

    Exit code 2 if there is no environment.
    """
    from fleet.environments import environments_table, read

    found = [*read(ROOT)]
    if not found:
        refuse("There is no environment in stacks/: `fleet init NAME` writes one.")
    if json:
        typer.echo(json_text.dumps([each.as_json() for each in found], indent=2))
    else:
        show(environments_table(found))
