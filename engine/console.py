"""The console to which commands print their results, and what it shows where it has ASCII alone."""

import codecs
import io
import os
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

WIDTH = 120
"""Of what nobody watches, such as the log of a pipeline."""
IN_ASCII = {
    "\N{CHECK MARK}": "+",
    "\N{BALLOT X}": "x",
    "\N{MULTIPLICATION SIGN}": "x",
    "\N{EN DASH}": "-",
    "\N{EM DASH}": "-",
    "\N{BOX DRAWINGS LIGHT HORIZONTAL}": "-",
    "\N{MIDDLE DOT}": ";",
    "\N{HORIZONTAL ELLIPSIS}": "...",
    "\N{RIGHTWARDS ARROW}": "->",
    "\N{LESS-THAN OR EQUAL TO}": "<=",
}
_TRAILING_BLANKS = re.compile(r" +(?=(?:\x1b\[0m)?$)", re.MULTILINE)
_IN_ASCII_ERRORS = "fleet-in-ascii"


def results() -> Console:
    """Return a console as wide as COLUMNS or the terminal says, else WIDTH columns wide.

    Behind a pipe the terminal is that of standard input or error. Where there is none, rich takes
    80 columns, in which tables break within words.
    """
    console = Console(emoji=False)
    if "COLUMNS" not in os.environ and not any(os.isatty(stream) for stream in (0, 1, 2)):
        console.width = WIDTH
    return console


def show(*things: RenderableType) -> None:
    """Print to standard output, no line with blanks at its end and no address in two pieces."""
    console = results()
    with console.capture() as captured:
        for thing in things:
            console.print(thing, crop=False)
    console.file.write(_TRAILING_BLANKS.sub("", captured.get()))


@dataclass(frozen=True)
class OneLine:
    """A text on one line, cut between words where the screen is too narrow; `tail` always shows."""

    text: Text
    tail: str = ""

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Yield the text, with an ellipsis where it goes on."""
        tail = Text(self.tail, style="dim")
        room = options.max_width - len(tail)
        whole = self.text.plain
        if len(whole) <= room:
            yield self.text + tail
            return
        ellipsis = " ..." if options.ascii_only else " …"
        cut = textwrap.shorten(whole, room, placeholder=ellipsis, break_on_hyphens=False)
        yield self.text[: max(len(cut) - len(ellipsis), 0)] + Text(ellipsis) + tail


def behind(mark: str, style: str, body: RenderableType) -> Table:
    """Return `body` behind a mark, each of its lines below the first."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True, min_width=len(mark))
    grid.add_column(ratio=1)
    grid.add_row(Text(mark, style=style), body)
    return grid


def print_what_the_output_can() -> None:
    """Let standard output and error write a sign that their encoding lacks as one of ASCII."""
    codecs.register_error(_IN_ASCII_ERRORS, _in_ascii)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_IN_ASCII_ERRORS)


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(IN_ASCII.get(sign, "?") for sign in signs), error.end
