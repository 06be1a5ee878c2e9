"""The `fleet` command: one file per verb, each imported when it is used."""

from typing import Any

import typer
from typer.core import TyperGroup

from engine.console import print_what_the_output_can
from fleet.cli.boot import boot
from fleet.cli.butane import butane
from fleet.cli.check import PrintsSarif, check
from fleet.cli.command import Command
from fleet.cli.destroy import destroy
from fleet.cli.explain import explain
from fleet.cli.hardware import hardware
from fleet.cli.plan import plan
from fleet.cli.policy_config import policy_config
from fleet.cli.preview import preview
from fleet.cli.printing import refuse
from fleet.cli.rehearse import rehearse
from fleet.cli.rehearse_stop import rehearse_stop
from fleet.cli.reinstall import reinstall
from fleet.cli.render import render
from fleet.cli.report import report
from fleet.cli.rules import rules
from fleet.cli.shape import shape
from fleet.cli.twin import twin
from fleet.cli.validate import validate


class ReportsFiles(TyperGroup):
    """Says in one sentence which file or folder a verb cannot read or write."""

    def invoke(self, ctx: Any) -> Any:  # typer hides the types of click
        """Run the verb."""
        print_what_the_output_can()
        try:
            return super().invoke(ctx)
        except OSError as error:
            if error.filename is None:
                raise
            refuse(f"{error.filename} cannot be used: {error.strerror}.")


app = typer.Typer(
    name="fleet",
    cls=ReportsFiles,
    help="Plan, check and rehearse a GPU fleet before you pay for it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help: boxes break at 80 columns
    pretty_exceptions_enable=False,
)
app.add_typer(plan, name="plan")
app.command("explain", cls=Command)(explain)
app.command("shape", cls=Command)(shape)
app.add_typer(hardware, name="hardware")
app.command("render", cls=Command)(render)
app.command("boot", cls=Command)(boot)
app.command("butane", cls=Command)(butane)
app.command("validate", cls=Command)(validate)
app.command("check", cls=PrintsSarif)(check)
app.command("rehearse", cls=Command)(rehearse)
app.command("report", cls=Command)(report)
app.command("rehearse-stop", cls=Command)(rehearse_stop)
app.command(
    "twin",
    cls=Command,
    context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True},
)(twin)
app.command("preview", cls=Command)(preview)
app.command("reinstall", cls=Command)(reinstall)
app.command("destroy", cls=Command)(destroy)
app.add_typer(rules, name="rules")
app.command("policy-config", cls=Command)(policy_config)
