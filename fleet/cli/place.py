"""The checkout that the command was installed from, and the arguments that several verbs take."""

from pathlib import Path
from typing import Annotated

import typer

from fleet.cli import completing

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT if (ROOT / "Pulumi.yaml").exists() else Path()
"""Where a verb writes by default: the checkout, or the current folder where pip installed."""

ENVIRONMENT_HELP = "Environment: a file stacks/Pulumi.ENV.yaml."
MACHINE_HELP = "A machine of the catalogue (dgx-h200), or a pool of an environment (prod/dgx)."
PURPOSE_HELP = (
    "training, inference, batch or realtime. Default: the pool's, or training for a machine."
)
SET_HELP = "Try a tuning choice, such as power=performance; repeatable."
JSON_HELP = "Print JSON instead of text."

Environment = Annotated[
    str,
    typer.Argument(metavar="ENV", help=ENVIRONMENT_HELP, autocompletion=completing.environments),
]
MachineOrPool = Annotated[
    str,
    typer.Argument(
        metavar="MACHINE|ENV/POOL",
        help=MACHINE_HELP,
        autocompletion=completing.machines_and_pools,
    ),
]
Purpose = Annotated[
    str | None,
    typer.Option(metavar="PURPOSE", help=PURPOSE_HELP, autocompletion=completing.purposes),
]
Choices = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help=SET_HELP)]
Json = Annotated[bool, typer.Option("--json", help=JSON_HELP)]
