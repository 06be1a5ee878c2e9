"""`fleet check -f FILE… --env prod`: Kubernetes manifests against the rules of an environment."""

import json as json_text
from importlib import import_module
from pathlib import Path  # typer reads the annotation
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperCommand

from fleet.cli.place import ROOT
from fleet.cli.printing import refuse, show

STDOUT = "-"


class PrintsSarif(TyperCommand):
    """`--sarif` without a file is `--sarif -`."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:  # typer hides the types of click
        """Puts `-` behind a `--sarif` that nothing or another option follows."""
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
        list[str] | None, typer.Argument(metavar="[FILE]...", help="More files and folders.")
    ] = None,
    *,
    files: Annotated[
        list[str] | None,
        typer.Option("-f", "--file", metavar="FILE", help="A file, a folder, or - ; repeatable."),
    ] = None,
    environment: Annotated[
        str, typer.Option("--env", metavar="ENV", help="Such as dev or prod: whose rules hold.")
    ],
    namespace: Annotated[
        str, typer.Option("-n", "--namespace", metavar="NAME", help="Of objects that name none.")
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print JSON alone.")] = False,
    sarif: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write SARIF for code scanning there, or print it alone."
        ),
    ] = None,
) -> None:
    """Hold Kubernetes YAML, rendered charts too, against the rules that a preview is held to.

    Exit code 1 where a mandatory rule is broken, 2 where something cannot be read.
    """
    names = [*(files or ()), *(more or ())]
    if not names:
        refuse("Nothing to check: name files or folders with -f, or - for standard input.")
    if json and str(sarif) == STDOUT:
        refuse("--json and --sarif cannot both print: give --sarif a file.")
    if sarif is not None and sarif.suffix in (".yaml", ".yml"):
        refuse(f"--sarif would write over {sarif}: name a file for the SARIF after it, or -.")
    reading = import_module("fleet.check.reading")  # here, so that `fleet --help` need not wait
    judging = import_module("fleet.check.judging")
    settings = import_module("settings")
    environments = import_module("policies.environment")
    try:
        rules = environments.load(settings.stack_file(ROOT, environment)).rules
        checked = judging.check(environment, rules, reading.read(names, namespace))
    except settings.SettingsError as error:
        refuse(error)
    if not checked.objects and not checked.unreadable:
        refuse(f"There is no Kubernetes object in {', '.join(names)}.")
    if sarif is not None:
        sarif_document = import_module("fleet.sarif").document
        found = sarif_document(checked.verdicts, checked.sarif_place, checked.unreadable)
        _write(sarif, json_text.dumps(found, indent=2, ensure_ascii=False))
    if json:
        typer.echo(json_text.dumps(checked.as_json(), indent=2, ensure_ascii=False))
    elif str(sarif) != STDOUT:
        show(import_module("fleet.check.tables").checked_table(checked))
    errors = Console(stderr=True, soft_wrap=True)
    for sentence in checked.unreadable:
        errors.print(sentence, style="red", markup=False, highlight=False)
    raise typer.Exit(checked.code)


def _write(target: Path, text: str) -> None:
    if str(target) == STDOUT:
        typer.echo(text)
        return
    target.write_text(f"{text}\n", encoding="utf-8")
