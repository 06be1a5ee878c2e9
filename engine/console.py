"""The console to which commands print their results."""

import os

from rich.console import Console

WIDTH = 120
"""Of what nobody watches, such as the log of a pipeline."""


def results() -> Console:
    """Return a console as wide as COLUMNS or the terminal says, else WIDTH columns wide.

    Behind a pipe the terminal is that of standard input or error. Where there is none, rich takes
    80 columns, in which tables break within words.
    """
    console = Console()
    if "COLUMNS" not in os.environ and not any(os.isatty(stream) for stream in (0, 1, 2)):
        console.width = WIDTH
    return console
