"""Reads the output of all_reduce_perf of nccl-tests.

A row is: size, count, type, redop, root, then time (us), algbw, busbw (GB/s) and the number of
wrong values, once for separate buffers and once in place.
"""

import re
from dataclasses import dataclass

_RANK = re.compile(r"#\s+Rank\s+\d+ ")
_NCCL_NOISE = re.compile(r"\[\d+\](?=\s)")
_FIGURES = 8


@dataclass(frozen=True, kw_only=True)
class Row:
    """One message size in bytes; the bus bandwidth of both forms in GB/s."""

    size: int
    busbw: float
    busbw_in_place: float
    wrong: int


@dataclass(frozen=True, kw_only=True)
class AllReduce:
    """A whole run."""

    ranks: int
    rows: tuple[Row, ...]

    @property
    def peak(self) -> float:
        """The bus bandwidth of the largest message in GB/s, the better of both forms."""
        largest = max(self.rows, key=lambda row: row.size)
        return max(largest.busbw, largest.busbw_in_place)

    @property
    def wrong(self) -> int:
        """The number of wrong values in all rows."""
        return sum(row.wrong for row in self.rows)


def parse(text: str) -> AllReduce:
    """Reads the run in a log; ValueError where it has no row."""
    rows = tuple(row for line in text.splitlines() if (row := _row(line)) is not None)
    if not rows:
        raise ValueError("the log of all_reduce_perf has no result: it failed before the first")
    ranks = sum(bool(_RANK.match(line)) for line in text.splitlines())
    return AllReduce(ranks=ranks, rows=rows)


def _row(line: str) -> Row | None:
    words = _NCCL_NOISE.sub(" ", line).split()
    if len(words) < _FIGURES + 3 or not words[0].isdigit() or not words[1].isdigit():
        return None
    _, _, busbw, wrong, _, _, busbw_in_place, wrong_in_place = words[-_FIGURES:]
    try:
        return Row(
            size=int(words[0]),
            busbw=float(busbw),
            busbw_in_place=float(busbw_in_place),
            wrong=_count(wrong) + _count(wrong_in_place),
        )
    except ValueError:
        return None


def _count(word: str) -> int:
    """N/A where validation was off; older versions print the largest error, such as 0e+00."""
    return 0 if word == "N/A" else int(float(word) > 0) if "e" in word else int(word)
