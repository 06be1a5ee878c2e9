"""The one style of tables: a line below the titles, cells that break between words alone."""

from collections.abc import Sequence

from rich.box import Box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table

ROOM = 1_000_000
# Its one sign beside blanks is written as a hyphen where the output is ASCII (`engine.console`), so
# that rich need not put a box with frames in its place.
LINE_BELOW_TITLES = Box(
    "    \n    \n ── \n    \n    \n    \n    \n    \n",
    ascii=True,
)


def table(
    *titles: str, right: Sequence[str] = (), whole: Sequence[str] = (), title: str = ""
) -> Table:
    """Return an empty table; columns of `right` align right, those of `whole` never break.

    A column of numbers never breaks either.
    """
    made = Table(
        box=LINE_BELOW_TITLES,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        title=title or None,
        title_justify="left",
        title_style="bold",
        show_header=any(titles),
        caption_justify="left",
    )
    for name in titles:
        number = name in right
        made.add_column(
            name, justify="right" if number else "left", no_wrap=number or name in whole
        )
    return made


class Widest:
    """The first of some tables that fits the screen, else the last."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self.tables = tables

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table."""
        roomy = options.update(width=ROOM)
        for each in self.tables[:-1]:
            if Measurement.get(console, roomy, each).maximum <= options.max_width:
                yield each
                return
        yield self.tables[-1]
