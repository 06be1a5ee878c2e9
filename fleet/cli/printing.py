"""How verbs print: results to standard output, refusals to standard error with exit code 2.

What prints is imported when something is printed, so that `fleet --help` does not wait for it.
"""

from typing import TYPE_CHECKING, NoReturn

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.status import Status


def show(*things: "RenderableType") -> None:
    """Print to standard output."""
    from engine.console import show as print_all

    print_all(*things)


def complain(sentence: str) -> None:
    """Print a sentence to standard error, in one piece."""
    from rich.console import Console

    console = Console(stderr=True, soft_wrap=True, emoji=False, highlight=False)
    console.print(sentence, style="red", markup=False)


def working(what: str) -> "Status":
    """Return what says on a terminal, while it is entered, that the command works."""
    from rich.console import Console

    return Console(stderr=True, emoji=False).status(f"{what} …")


def refuse(reason: object) -> NoReturn:
    """Say in a sentence why there is no result, and end with exit code 2."""
    complain(str(reason))
    raise typer.Exit(2)
