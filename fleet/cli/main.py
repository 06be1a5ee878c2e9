"""The `fleet` command: one file per verb, each imported when it is used."""

from typing import Annotated

import typer

from fleet.cli.audit import audit
from fleet.cli.boot import boot
from fleet.cli.butane import butane
from fleet.cli.check import PrintsSarif, check
from fleet.cli.command import CHANGE, JUDGE, LOOK, REHEARSE, WORK, Command, Verbs
from fleet.cli.cost import cost
from fleet.cli.destroy import destroy
from fleet.cli.diff import diff
from fleet.cli.doctor import doctor
from fleet.cli.envs import envs
from fleet.cli.explain import explain
from fleet.cli.hardware import hardware
from fleet.cli.init import init
from fleet.cli.plan import plan
from fleet.cli.policy_config import policy_config
from fleet.cli.preview import preview
from fleet.cli.rehearse import rehearse
from fleet.cli.rehearse_stop import rehearse_stop
from fleet.cli.reinstall import reinstall
from fleet.cli.render import render
from fleet.cli.report import report
from fleet.cli.resume import resume
from fleet.cli.rules import rules
from fleet.cli.shape import shape
from fleet.cli.statement import statement
from fleet.cli.twin import twin
from fleet.cli.validate import validate

HELP = """\
Plan, check and rehearse a GPU fleet before you pay for it.

\b
Examples:
  fleet plan dgx-h200         # what to set on a machine, and why
  fleet rehearse dev          # bring up an environment here, no account
  fleet rehearse --help       # what a verb does, with examples
"""

app = typer.Typer(
    name="fleet",
    cls=Verbs,
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: boxes break at 80 columns
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:  # typer calls it with the flag's value
    if asked:
        from fleet.version import version

        typer.echo(version())
        raise typer.Exit


@app.callback()
def fleet(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Documented by HELP."""


app.command("cost", cls=Command, rich_help_panel=LOOK)(cost)
app.command("envs", cls=Command, rich_help_panel=LOOK)(envs)
app.command("explain", cls=Command, rich_help_panel=LOOK)(explain)
app.add_typer(hardware, name="hardware", rich_help_panel=LOOK)
app.add_typer(plan, name="plan", rich_help_panel=LOOK)
app.command("shape", cls=Command, rich_help_panel=LOOK)(shape)
app.command("report", cls=Command, rich_help_panel=LOOK)(report)
app.command("audit", cls=Command, rich_help_panel=JUDGE)(audit)
app.command("boot", cls=Command, rich_help_panel=JUDGE)(boot)
app.command("check", cls=PrintsSarif, rich_help_panel=JUDGE)(check)
app.add_typer(rules, name="rules", rich_help_panel=JUDGE)
app.command("validate", cls=Command, rich_help_panel=JUDGE)(validate)
app.command("doctor", cls=Command, rich_help_panel=REHEARSE)(doctor)
app.command("rehearse", cls=Command, rich_help_panel=REHEARSE)(rehearse)
app.command("rehearse-stop", cls=Command, rich_help_panel=REHEARSE)(rehearse_stop)
app.command(
    "twin",
    cls=Command,
    rich_help_panel=REHEARSE,
    context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True},
)(twin)
app.add_typer(statement, name="statement", rich_help_panel=REHEARSE)
app.command("diff", cls=Command, rich_help_panel=CHANGE)(diff)
app.command("init", cls=Command, rich_help_panel=CHANGE)(init)
app.command("preview", cls=Command, rich_help_panel=CHANGE)(preview)
app.command("reinstall", cls=Command, rich_help_panel=CHANGE)(reinstall)
app.command("resume", cls=Command, rich_help_panel=CHANGE)(resume)
app.command("destroy", cls=Command, rich_help_panel=CHANGE)(destroy)
app.command("butane", cls=Command, rich_help_panel=WORK)(butane)
app.command("policy-config", cls=Command, rich_help_panel=WORK)(policy_config)
app.command("render", cls=Command, rich_help_panel=WORK)(render)
