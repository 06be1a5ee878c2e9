"""How verbs print: results to standard output, refusals to standard error with exit code 2."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import typer
from rich.console import Console

if TYPE_CHECKING:
    from rich.console import RenderableType

WIDTH = 120  # tables whole, also where the output goes to a file


def show(result: RenderableType) -> None:
    """Prints a table; as wide as the terminal, or WIDTH where there is none."""
    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, WIDTH)
    console.print(result)


def refuse(reason: object) -> NoReturn:
    """Says in a sentence why there is no result, and ends with exit code 2."""
    Console(stderr=True, soft_wrap=True).print(
        str(reason), style="red", markup=False, highlight=False
    )
    raise typer.Exit(2)
