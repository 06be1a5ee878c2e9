"""How verbs print: results to standard output, refusals to standard error with exit code 2."""

from typing import NoReturn

import typer
from rich.console import Console
from rich.status import Status

from engine.console import show

__all__ = ["complain", "refuse", "show", "working"]


def complain(sentence: str) -> None:
    """Print a sentence to standard error, in one piece."""
    Console(stderr=True, soft_wrap=True, emoji=False).print(
        sentence, style="red", markup=False, highlight=False
    )


def working(what: str) -> Status:
    """Return what says on a terminal, while it is entered, that the command works."""
    return Console(stderr=True, emoji=False).status(f"{what} …")


def refuse(reason: object) -> NoReturn:
    """Say in a sentence why there is no result, and end with exit code 2."""
    complain(str(reason))
    raise typer.Exit(2)
