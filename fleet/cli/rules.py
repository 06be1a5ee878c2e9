"""`fleet rules …`: the rules for other clusters, and rules of one's own."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fleet.cli import completing
from fleet.cli.command import INSTALL_THE_EXTRA, Command
from fleet.cli.place import ENVIRONMENT_HELP, HERE, ROOT
from fleet.cli.printing import complain, refuse

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from fleet.rules.cases import Tried
    from policies.configuration import ConfiguredRule

HELP = """\
Use the rules elsewhere, and write rules of your own.

\b
Examples:
  fleet rules new acme/who-owns        # a rule of your own, with its cases
  fleet rules test                     # try a folder of rules on its cases
  fleet rules docs                     # write the page of these rules
  fleet rules export gate --env prod   # admission policies for any cluster
"""

rules = typer.Typer(
    help=HELP, short_help="Export the rules, and write your own.", no_args_is_help=True
)


FOLDER = HERE / "stacks" / "rules"
FOLDER_HELP = "The folder of rules that the stack file names. Default: stacks/rules."


@rules.command("new", cls=Command)
def new(
    rule: Annotated[str, typer.Argument(metavar="PACK/NAME", help="The id of the rule.")],
    *,
    folder: Annotated[
        Path, typer.Option(metavar="FOLDER", help=FOLDER_HELP, show_default=False)
    ] = FOLDER,
) -> None:
    """Write a rule of your own, with its cases.

    The cases are a good and a bad object that `fleet rules test` tries it on.

    \b
    Example:
      fleet rules new acme/who-owns
    """
    from fleet.rules.new import NewRuleError, write
    from settings.yaml_reading import path_from_here

    try:
        file, cases = write(rule, folder)
    except NewRuleError as error:
        refuse(error)
    typer.echo(f"{path_from_here(file)} has the rule, {path_from_here(cases)} its cases.")
    typer.echo("Change both, then `fleet rules test`. A stack file holds to them by")
    typer.echo("  gpu-fleet:policies:\n    rules: {folder: ./rules}")
    typer.echo("The files are Python and run with the rights of whoever runs the program.")


@rules.command("test", cls=Command)
def try_rules(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help=FOLDER_HELP, show_default=False)
    ] = FOLDER,
) -> None:
    """Try the rules of a folder on their cases.

    That is at the preview, and at an API server on this machine where `make toolchain` has built
    one.

    \b
    Examples:
      fleet rules test
      fleet rules test own

    Exit code 1 if a verdict differs, 2 if the rules cannot be read.
    """
    from datetime import UTC, datetime

    from fleet.rules.cases import tried
    from policies.own_rules import OwnRulesError

    today = datetime.now(UTC).date()
    try:
        every = tried(folder, today)
    except OwnRulesError as error:
        refuse(error)
    mistakes = [mistake for each in every for mistake in each.mistakes]
    at_server = _at_a_server(every, today, mistakes)
    for sentence in (*mistakes, *(note for each in every for note in each.notes)):
        complain(sentence)
    cases = sum(len(each.cases) for each in every)
    count = f"{_counted(len(every), 'rule')}, {_counted(cases, 'case')}"
    verdict = _counted(len(mistakes), "mistake") if mistakes else "each verdict is right"
    typer.echo(f"{count}: {verdict} at the preview{at_server}.")
    raise typer.Exit(int(bool(mistakes)))


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _at_a_server(every: "Sequence[Tried]", today: "date", mistakes: list[str]) -> str:
    """Try the rules with CEL at an API server; return what to say of it."""
    if not any(each.own.rule.admission for each in every):
        return ""
    try:
        from fleet.rules.server import PROGRAMS, control_plane
        from fleet.rules.server import mistakes as of_server
    except ModuleNotFoundError:
        return f"; not tried at an API server: {INSTALL_THE_EXTRA} brings what that needs"
    from toolchain.build import ensure, is_built

    if not is_built(PROGRAMS):
        return "; not tried at an API server: build it with `make toolchain`"
    with control_plane(ensure(PROGRAMS, console=None)) as api:
        mistakes += of_server(api, every, today)
    return " and at an API server"


@rules.command("docs", cls=Command)
def docs(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help=FOLDER_HELP, show_default=False)
    ] = FOLDER,
) -> None:
    """Write the page of the rules in a folder, FOLDER/README.md.

    \b
    Examples:
      fleet rules docs
      fleet rules docs own
    """
    from policies.docs_page import own_page
    from policies.own_rules import OwnRulesError, load
    from policies.rules import ALL

    try:
        page = own_page(load(folder, ALL))
    except OwnRulesError as error:
        refuse(error)
    (folder / "README.md").write_text(page, encoding="utf-8")
    typer.echo(f"{folder / 'README.md'} is written.")


@rules.command("exempt", cls=Command)
def exempt(  # noqa: PLR0913  # what an exemption says
    rule: Annotated[
        str,
        typer.Argument(metavar="RULE", help="The id of a rule.", autocompletion=completing.rules),
    ],
    resource: Annotated[
        str, typer.Argument(metavar="RESOURCE", help="KIND/NAME, or * for a whole namespace.")
    ],
    *,
    owner: Annotated[str, typer.Option(help="Who answers for it.")],
    reason: Annotated[str, typer.Option(help="Why the rule cannot be kept yet.")],
    until: Annotated[str, typer.Option(metavar="DAY", help="Its last day, such as 2027-01-31.")],
    namespace: Annotated[str, typer.Option(help="Only there.")] = "",
    namespace_label: Annotated[
        str,
        typer.Option(metavar="KEY=VALUE", help="Only in namespaces with this label."),
    ] = "",
    environment: Annotated[
        str,
        typer.Option(
            "--env",
            metavar="ENV",
            help=f"{ENVIRONMENT_HELP[:-1]}; it has the rule.",
            autocompletion=completing.environments,
        ),
    ] = "dev",
) -> None:
    """Check an exemption and print it.

    It goes into the stack file; a pull request with it asks for it.

    \b
    Example:
      fleet rules exempt idle/notebooks Notebook/ada --namespace desk \\
        --owner ada --reason demo --until 2027-01-31
    """
    from datetime import UTC, datetime

    from fleet.rules.exemption import ExemptionError, doubt, entry
    from settings import SettingsError, stack_file

    said = {"resource": resource, "owner": owner, "reason": reason, "until": until}
    said |= {"namespace": namespace} if namespace else {}
    said |= {"namespace_label": namespace_label} if namespace_label else {}
    try:
        path = stack_file(ROOT, environment)
        typer.echo(entry(path, rule, said, datetime.now(UTC).date()))
        if unknown := doubt(path, resource):
            complain(unknown)
    except (ExemptionError, SettingsError) as error:
        refuse(error)


@rules.command("export", cls=Command)
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder, or an export's.")],
    *,
    environment: Annotated[
        str,
        typer.Option(
            "--env",
            metavar="ENV",
            help=f"{ENVIRONMENT_HELP[:-1]}; its rules and facts.",
            autocompletion=completing.environments,
        ),
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

    \b
    Examples:
      fleet rules export gate --env prod
      fleet rules export gate --config rules.yaml --deny
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
    typer.echo(f"Apply them by:\n  kubectl apply --server-side --force-conflicts -k {folder}")
    typer.echo(f"Then delete what an earlier export left in the cluster:\n  {found.clean_up}")


def _configured(environment: str, config: Path | None) -> "tuple[ConfiguredRule, ...]":
    """Return the rules of an environment, or of a file; else each with its defaults."""
    from fleet.rules.export import configured, settings_of_file
    from policies.environment import load
    from settings import stack_file

    if environment:
        return load(stack_file(ROOT, environment)).rules
    return configured(settings_of_file(config) if config else {})
