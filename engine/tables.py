"""The one style of tables: a line below the titles, cells that break between words alone."""

from collections.abc import Sequence

from rich.box import Box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table

ROOM = 1_000_000
# Its one sign beside blanks is written as a hyphen where the output is ASCII (`engine.console`), so
# that rich need not put a box with frames in its place.
LINE_BELOW_TITLES = Box(
    "    \n    \n ── \n    \n    \n    \n    \n    \n",
    ascii=True,
)


def table(*titles: str, right: Sequence[str] = (), whole: Sequence[str] = ()) -> Table:
    """Return an empty table; columns of `right` align right, those of `whole` do not break.

    Nor do columns of numbers, which are those that align right. Without a title it has no line.
    """
    made = Table(
        box=LINE_BELOW_TITLES,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        show_header=any(titles),
    )
    for name in titles:
        number = name in right
        made.add_column(
            name,
            justify="right" if number else "left",
            no_wrap=number or name in whole,
            overflow="fold",
        )
    return made


class Widest:
    """The first of some forms of the same that fits the screen, else the last."""

    def __init__(self, forms: Sequence[RenderableType]) -> None:
        self.forms = forms

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the form."""
        roomy = options.update(width=ROOM)
        for each in self.forms[:-1]:
            if Measurement.get(console, roomy, each).maximum <= options.max_width:
                yield each
                return
        yield self.forms[-1]
