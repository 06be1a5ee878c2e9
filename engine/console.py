"""The console to which commands print their results."""

import os
import re

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

WIDTH = 120
"""Of what nobody watches, such as the log of a pipeline."""
NARROWEST = 20
"""Less, as COLUMNS=0 says, has no room for a word."""
_TRAILING_BLANKS = re.compile(r" +(?=(?:\x1b\[0m)?$)", re.MULTILINE)


def results() -> Console:
    """Return a console as wide as COLUMNS or the terminal says, else WIDTH columns wide.

    Behind a pipe the terminal is that of standard input or error. Where there is none, rich takes
    80 columns, in which tables break within words.
    """
    console = Console(emoji=False, markup=False)
    if "COLUMNS" not in os.environ and not any(os.isatty(stream) for stream in (0, 1, 2)):
        console.width = WIDTH
    console.width = max(console.width, NARROWEST)
    return console


def show(*things: RenderableType) -> None:
    """Print to standard output, no line with blanks at its end and no address in two pieces."""
    console = results()
    with console.capture() as captured:
        for thing in things:
            console.print(thing, crop=False)
    console.file.write(_TRAILING_BLANKS.sub("", captured.get()))


def behind(mark: str, style: str, body: RenderableType) -> Table:
    """Return `body` behind a mark, each of its lines below the first."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True, min_width=len(mark))
    grid.add_column(ratio=1)
    grid.add_row(Text(mark, style=style), body)
    return grid
