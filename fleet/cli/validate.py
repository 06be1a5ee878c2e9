"""`fleet validate ENV…`: stack files, and every rule that they decide; no build, no account."""

import gc
import json as json_text
from typing import TYPE_CHECKING, Annotated

import typer

from fleet.cli import completing
from fleet.cli.place import ENVIRONMENT_HELP, ROOT, Json
from fleet.cli.printing import complain, refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.validate.judging import Validated


def validate(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ENV]...",
            help=f"{ENVIRONMENT_HELP[:-1]}. Default: all.",
            autocompletion=completing.environments,
        ),
    ] = None,
    *,
    json: Json = False,
) -> None:
    """Validate stack files, and what the rules say of them.

    Needs no build, no account and no network.

    \b
    Examples:
      fleet validate
      fleet validate prod

    Exit code 1 if something is wrong, 2 if there is no such environment.
    """
    gc.disable()  # the imports and the program make what the collector would go through for 0.5 s
    from fleet.validate.judging import validate as judge
    from settings import SettingsError, environments, stack_file

    try:
        paths = [stack_file(ROOT, name) for name in names or environments(ROOT)]
    except SettingsError as error:
        refuse(error)
    found = []
    for path in paths:
        found.append(judge(path))
        if not json:
            _show(found[-1])
    if json:
        typer.echo(json_text.dumps([each.as_json() for each in found], indent=2))
    raise typer.Exit(int(not all(each.holds for each in found)))


def _show(each: "Validated") -> None:
    """Print the verdict of an environment, and what is wrong with it."""
    typer.echo(_verdict(each))
    for sentence in (*each.mistakes, *each.broken):
        complain(sentence)
    for sentence in each.warnings:
        typer.echo(f"warning: {sentence}")


def _verdict(each: "Validated") -> str:
    if each.mistakes:
        return f"{each.environment}: {_count(each.mistakes, 'mistake')}; rules not judged."
    rules = f"{each.rules} rules on {each.resources} resources"
    waiting = f"; {len(each.waiting)} need the preview ({', '.join(each.waiting)})"
    rest = waiting if each.waiting else ""
    if each.broken:
        return f"{each.environment}: {_count(each.broken, 'violation')}; {rules} hold{rest}."
    return f"{each.environment} is valid: {rules} hold{rest}."


def _count(found: "Sequence[str]", what: str) -> str:
    return f"{len(found)} {what}" + ("" if len(found) == 1 else "s")
