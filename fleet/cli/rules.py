"""`fleet rules …`: the rules for other clusters, and rules of one's own."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fleet.cli.command import Command
from fleet.cli.place import ENVIRONMENT_HELP, ROOT
from fleet.cli.printing import refuse

if TYPE_CHECKING:
    from policies.configuration import ConfiguredRule

HELP = """\
Use the rules elsewhere, and write rules of your own.

\b
fleet rules export gate --env prod --deny   admission policies for any cluster
"""

rules = typer.Typer(
    help=HELP, short_help="Export the rules, and write your own.", no_args_is_help=True
)


@rules.command("export", cls=Command)
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder, or an export's.")],
    *,
    environment: Annotated[
        str,
        typer.Option("--env", metavar="ENV", help=f"{ENVIRONMENT_HELP[:-1]}; its rules and facts."),
    ] = "",
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Settings and facts, as policy-config writes them."),
    ] = None,
    deny: Annotated[
        bool, typer.Option("--deny/--audit", help="Refuse what breaks a rule, or only warn.")
    ] = False,
) -> None:
    """Write the admission rules as plain Kubernetes YAML.

    The folder gets ValidatingAdmissionPolicies with their bindings, a kustomization and a README.

    Example: fleet rules export gate --config rules.yaml && kubectl apply --server-side -k gate
    """
    from datetime import UTC, datetime

    from fleet.rules.export import ExportError, bundle, write
    from settings import SettingsError

    if environment and config:
        refuse("--env and --config both say what the rules are set to: give one.")
    try:
        found = bundle(
            _configured(environment, config),
            stage="deny" if deny else "audit",
            today=datetime.now(UTC).date(),
        )
        write(found, folder)
    except (ExportError, SettingsError) as error:
        refuse(error)
    typer.echo(f"{found.rules} rules are in {folder}; {'they refuse' if deny else 'they warn'}.")
    if found.silent:
        typer.echo(
            f"{len(found.silent)} of them hold nobody to anything, because no pools or queues are "
            f"set: {', '.join(found.silent)}."
        )
    typer.echo(f"Apply them by `kubectl apply --server-side -k {folder}`.")


def _configured(environment: str, config: Path | None) -> "tuple[ConfiguredRule, ...]":
    """Return the rules of an environment, or of a file; else each with its defaults."""
    from fleet.rules.export import configured, settings_of_file
    from policies.environment import load
    from settings import stack_file

    if environment:
        return load(stack_file(ROOT, environment)).rules
    return configured(settings_of_file(config) if config else {})
