"""The parts that Markdown is made of, safe for any text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WIDTH = 300  # of a sentence; the whole of it stands in the engine's log and in the JSON


def rows(head: Sequence[str], aligned: str) -> Iterator[str]:
    """The head of a table; each column is aligned (l)eft or (r)ight."""
    yield f"| {' | '.join(head)} |"
    yield "|" + "|".join("---" if side == "l" else "--:" for side in aligned) + "|"


def bullets(sign: str, texts: Sequence[str], most: int) -> Iterator[str]:
    """A list of at most so many lines, and one that counts the rest."""
    bullet = f"- {sign}".rstrip()
    for text in texts[:most]:
        yield f"{bullet} {cell(short(text))}"
    if len(texts) > most:
        yield f"{bullet} and {len(texts) - most} more in the engine's log"


def short(text: str) -> str:
    """At most WIDTH characters."""
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…"


def cell(text: str) -> str:
    """Text that neither breaks a table nor becomes HTML or a mention of somebody."""
    flat = " ".join(text.split())
    return flat.replace("|", "\\|").replace("<", "&lt;").replace("@", "@\N{ZERO WIDTH SPACE}")
