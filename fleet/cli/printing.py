"""How verbs print: results to standard output, refusals to standard error with exit code 2."""

from typing import NoReturn

import typer
from rich.console import Console, RenderableType

from engine.console import results


def show(result: RenderableType) -> None:
    """Print a result as wide as where it is read."""
    results().print(result, crop=False)  # an address stays in one piece


def complain(sentence: str) -> None:
    """Print a sentence to standard error, in one piece."""
    Console(stderr=True, soft_wrap=True).print(sentence, style="red", markup=False, highlight=False)


def refuse(reason: object) -> NoReturn:
    """Say in a sentence why there is no result, and end with exit code 2."""
    complain(str(reason))
    raise typer.Exit(2)
