"""`fleet check -f FILE… --env prod`: Kubernetes manifests against the rules of an environment."""

import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fleet.cli.command import Command
from fleet.cli.completing import environments
from fleet.cli.place import ENVIRONMENT_HELP, ROOT, Json
from fleet.cli.printing import complain, refuse, show

if TYPE_CHECKING:
    from fleet.check.judging import Checked

STDOUT = "-"


class PrintsSarif(Command):
    """`--sarif` without a file is `--sarif -`."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:  # typer hides the types of click
        """Put `-` after a `--sarif` that has no file."""
        following = [*args[1:], "--"]
        alone = [
            word == "--sarif" and after.startswith("-") and after != STDOUT
            for word, after in zip(args, following, strict=False)
        ]
        whole = [
            part
            for word, is_alone in zip(args, alone, strict=True)
            for part in ((word, STDOUT) if is_alone else (word,))
        ]
        return super().parse_args(ctx, whole)


def check(  # noqa: PLR0913  # an option each
    more: Annotated[
        list[str] | None, typer.Argument(metavar="FILE", help="More files and folders.")
    ] = None,
    *,
    files: Annotated[
        list[str] | None,
        typer.Option(
            "-f",
            "--file",
            metavar="FILE",
            help="A file, a folder, or - for standard input; repeatable.",
        ),
    ] = None,
    environment: Annotated[
        str,
        typer.Option(
            "--env",
            metavar="ENV",
            help=f"{ENVIRONMENT_HELP[:-1]}; its rules apply.",
            autocompletion=environments,
        ),
    ],
    namespace: Annotated[
        str,
        typer.Option("-n", "--namespace", metavar="NAME", help="For objects that name none."),
    ] = "",
    kustomize: Annotated[
        list[str] | None,
        typer.Option(
            "-k",
            "--kustomize",
            metavar="DIR",
            help="A folder that kustomize renders; repeatable.",
        ),
    ] = None,
    render: Annotated[
        bool,
        typer.Option(
            "--render",
            help="Render what HelmReleases and Argo CD Applications name, with your helm.",
        ),
    ] = False,
    values: Annotated[
        Path | None,
        typer.Option(
            "--values", metavar="FILE", help="Values of ${VAR} in the files: YAML, or VAR=value."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="VAR=VALUE", help="A value of ${VAR}; repeatable."),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Exit with 1 also if something with GPUs could not be judged."
        ),
    ] = False,
    json: Json = False,
    sarif: Annotated[
        Path | None,
        typer.Option(metavar="[FILE]", help="Write SARIF for code scanning, or print it."),
    ] = None,
) -> None:
    """Check Kubernetes YAML against an environment's rules.

    Reads manifests and rendered charts.

    \b
    Examples:
      fleet check -f workloads --env prod
      helm template lakefs/lakefs | fleet check -f - --env prod
      fleet check -k overlays/prod --env prod
      fleet check -f templates --env prod --values prod.env
      fleet check -f workloads --env prod --sarif findings.sarif

    Exit code 1 if a mandatory rule is broken, 2 if something cannot be read.
    """
    names = [*(files or ()), *(more or ())]
    given = [*names, *(kustomize or ())]
    _check_options(given, sarif, json=json)
    from fleet.check.judging import check as judge
    from fleet.check.sources import Sources, read_sources
    from fleet.check.variables import VariablesError, variables
    from policies.environment import load
    from settings import SettingsError, stack_file

    try:
        rules = load(stack_file(ROOT, environment)).rules
        sources = Sources(
            files=names,
            kustomize=kustomize or (),
            namespace=namespace,
            variables=variables(values, settings or ()),
            render=render,
        )
        checked = judge(environment, rules, read_sources(sources), strict=strict)
    except (SettingsError, VariablesError) as error:
        refuse(error)
    if not checked.objects and not checked.unreadable:
        refuse(f"There is no Kubernetes object in {', '.join(given)}.")
    _tell(checked, sarif, json=json)
    raise typer.Exit(checked.code)


def _tell(checked: "Checked", sarif: Path | None, *, json: bool) -> None:
    from fleet.check.tables import checked_table
    from fleet.sarif import document

    if sarif is not None:
        left = [sentence for each in checked.unjudged for sentence in each.sentences]
        left += checked.left
        found = document(checked.verdicts, checked.sarif_place, checked.unreadable, left)
        _write(sarif, json_text.dumps(found, indent=2, ensure_ascii=False))
    if json:
        typer.echo(json_text.dumps(checked.as_json(), indent=2, ensure_ascii=False))
    elif str(sarif) != STDOUT:
        show(checked_table(checked))
    for sentence in checked.unreadable:
        complain(sentence)


def _check_options(names: list[str], sarif: Path | None, *, json: bool) -> None:
    if not names:
        refuse("Nothing to check: name files or folders with -f, or - for standard input.")
    if json and str(sarif) == STDOUT:
        refuse("--json and --sarif cannot both print: give --sarif a file.")
    if sarif is not None and sarif.suffix in (".yaml", ".yml"):
        refuse(f"--sarif would write over {sarif}: name a file for the SARIF after it, or -.")


def _write(target: Path, text: str) -> None:
    if str(target) == STDOUT:
        typer.echo(text)
        return
    target.write_text(f"{text}\n", encoding="utf-8")
