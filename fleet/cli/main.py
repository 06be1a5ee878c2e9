"""The `fleet` command: one file per verb, each imported when it is used."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from fleet.cli.boot import boot
from fleet.cli.butane import butane
from fleet.cli.check import PrintsSarif, check
from fleet.cli.explain import explain
from fleet.cli.hardware import hardware
from fleet.cli.plan import plan
from fleet.cli.policy_config import policy_config
from fleet.cli.preview import preview
from fleet.cli.printing import refuse
from fleet.cli.rehearse import rehearse
from fleet.cli.rehearse_stop import rehearse_stop
from fleet.cli.render import render
from fleet.cli.shape import shape


class TellsOfFiles(TyperGroup):
    """Tells in a sentence of a file or folder that a verb cannot read or write."""

    def invoke(self, ctx: Any) -> Any:  # typer hides the types of click
        """Runs the verb."""
        try:
            return super().invoke(ctx)
        except OSError as error:
            if error.filename is None:
                raise
            refuse(f"{error.filename} cannot be used: {error.strerror}.")


app = typer.Typer(
    name="fleet",
    cls=TellsOfFiles,
    help="Rehearse a GPU fleet before you pay for it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("rehearse")(rehearse)
app.command("rehearse-stop")(rehearse_stop)
app.command("preview")(preview)
app.command("check", cls=PrintsSarif)(check)
app.command("policy-config")(policy_config)
app.add_typer(plan, name="plan")
app.command("explain")(explain)
app.command("render")(render)
app.command("shape")(shape)
app.command("butane")(butane)
app.command("boot")(boot)
app.add_typer(hardware, name="hardware")
