"""One matter of a report as data, for the page and for Markdown: lines, tables, what is folded."""

from collections.abc import Iterable
from dataclasses import dataclass

from rehearsal.digest import NOTHING, Line, Mark


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of a table, as text; what is empty is shown as a dash."""

    cells: tuple[str, ...]
    mark: Mark = "plain"


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table: heads of columns of numbers, and of those whose text may break anywhere."""

    head: tuple[str, ...]
    rows: tuple[Row, ...]
    title: str = ""
    numbers: frozenset[str] = frozenset()
    long: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Fold:
    """What few readers want to see: lists of names with their titles, sentences, tables."""

    title: str
    lists: tuple[tuple[str, tuple[str, ...]], ...] = ()
    sentences: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Section:
    """A matter with its verdict and what is to be said of it."""

    title: str
    mark: Mark
    text: str
    lines: tuple[Line, ...] = ()
    tables: tuple[Table, ...] = ()
    folds: tuple[Fold, ...] = ()
    note: str = ""

    @property
    def anchor(self) -> str:
        """Its name in an address."""
        return self.title.lower().replace(" ", "-")


def rows(found: Iterable[Iterable[object]]) -> tuple[Row, ...]:
    """Return rows whose empty cells are dashes."""
    return tuple(row(each) for each in found)


def row(cells: Iterable[object], mark: Mark = "plain") -> Row:
    """Return a row whose empty cells are dashes."""
    return Row(cells=tuple(str(cell) or NOTHING for cell in cells), mark=mark)


def filled(tables: Iterable[Table]) -> tuple[Table, ...]:
    """Return the tables that have a row."""
    return tuple(table for table in tables if table.rows)


def folds(found: Iterable[Fold]) -> tuple[Fold, ...]:
    """Return the folds that have something in them."""
    return tuple(
        each
        for each in found
        if any(names for _, names in each.lists) or each.sentences or filled(each.tables)
    )
