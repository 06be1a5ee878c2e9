"""Builds parts of Markdown and escapes any text in them."""

import re
from collections.abc import Iterator, Sequence

LOG = "the engine's log"
WIDTH = 700  # of a sentence; the whole of it stands in the engine's log and in the JSON
_CODE = re.compile("(`[^`]+`)")
_SIGNS = re.compile(r"[\\*~`]|(?<![^\W_])_|_(?![^\W_])|\](?=\()")


def rows(head: Sequence[str], aligned: str) -> Iterator[str]:
    """Yields the header of a table; each column is aligned (l)eft or (r)ight."""
    yield f"| {' | '.join(head)} |"
    yield "|" + "|".join("---" if side == "l" else "--:" for side in aligned) + "|"


def bullets(sign: str, texts: Sequence[str], most: int, rest: str = LOG) -> Iterator[str]:
    """Yields a list of at most so many lines, and one that counts those that are in the `rest`."""
    bullet = f"- {sign}".rstrip()
    for text in texts[:most]:
        yield f"{bullet} {cell(short(text))}"
    if len(texts) > most:
        yield f"{bullet} and {len(texts) - most} more in {rest}"


def short(text: str) -> str:
    """At most WIDTH characters."""
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…"


def cell(text: str) -> str:
    """Text that neither breaks a table nor becomes HTML, a link, emphasis or a mention.

    Text in backticks stays code.
    """
    parts = _CODE.split(" ".join(text.split()))
    shown = [part if index % 2 else _literal(part) for index, part in enumerate(parts)]
    return "".join(shown).replace("|", "\\|")


def code(text: str) -> str:
    """Text as code, in a table or not."""
    return f"`{' '.join(text.replace('`', '').split())}`".replace("|", "\\|")


def _literal(text: str) -> str:
    """Escapes text outside of code; Markdown ignores an underscore within a word."""
    text = _SIGNS.sub(r"\\\g<0>", text)
    return text.replace("<", "&lt;").replace("@", "@\N{ZERO WIDTH SPACE}")
