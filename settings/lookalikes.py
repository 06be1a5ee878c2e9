"""Shows the characters in a sentence that look like others, or like nothing, on a screen."""

import unicodedata

_ALPHABETS = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "FULLWIDTH", "MATHEMATICAL")
"""Alphabets with letters that look like Latin ones."""
_BLANKS_AND_DASHES = ("Zs", "Cf", "Pd")
"""Categories of Unicode: separators, characters without a shape of their own, dashes."""


def escaped(sentence: str) -> str:
    """Return a sentence with what breaks a line or deceives the eye escaped as in YAML.

    Each letter that deceives is named at the end, such as CYRILLIC SMALL LETTER A.
    """
    text = "".join(map(_shown, sentence))
    odd = dict.fromkeys(char for char in sentence if _deceives(char))
    if not odd:
        return text
    names = ", ".join(f"{_escape(char)} is {unicodedata.name(char)}" for char in odd)
    return f"{text} ({names})"


def odd_blanks(line: str) -> dict[str, int]:
    """Return the names of blanks that YAML takes for letters, each with its first column."""
    columns = ((at, char) for at, char in enumerate(line, 1) if _deceives(char))
    found: dict[str, int] = {}
    for at, char in columns:
        if unicodedata.category(char) in ("Zs", "Cf"):
            found.setdefault(f"{unicodedata.name(char)} (U+{ord(char):04X})", at)
    return found


def _shown(char: str) -> str:
    return _escape(char) if not char.isprintable() or _deceives(char) else char


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode()


def _deceives(char: str) -> bool:
    if char.isascii():
        return False
    name = unicodedata.name(char, "")
    of_kind = unicodedata.category(char) in _BLANKS_AND_DASHES
    return bool(name) and (of_kind or name.startswith(_ALPHABETS))
