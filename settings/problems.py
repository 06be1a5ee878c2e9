"""Mistakes in a stack file as sentences: the YAML path, the value seen, what is allowed."""

import dataclasses
import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from types import UnionType
from typing import Annotated, Literal, Self, Union, get_args, get_origin, get_type_hints

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from settings.lookalikes import escaped

_SCALARS: dict[object, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text, in quotes where it looks like a number",
}

_COMMA = "a comma between { and } ends a value; allowed: a number without commas, 3000 for 3,000"

_USER = re.compile(r"(?<=//)[^/@\s]+@")
"""The user of an address, often with a password."""

Places = Mapping[tuple[int | str, ...], str]
"""The places of values that another file has, by their path in what was checked."""
NOWHERE_ELSE: Places = {}


class Mistake(str):
    """The sentence about a mistake, and the YAML path of what is wrong, by which its line is found.

    The sentence begins with the path unless `place` says which one it is about.
    """

    place: str

    def __new__(cls, path: str, rest: str, *, place: str | None = None) -> Self:
        """Return the sentence of a path and what is said of it."""
        made = super().__new__(cls, path + rest)
        made.place = path if place is None else place
        return made


class SettingsError(ValueError):
    """Every mistake of a stack file; the text has one sentence a line."""

    def __init__(self, mistakes: Iterable[str]) -> None:
        self.mistakes = tuple(map(_printable, mistakes))
        super().__init__("\n".join(self.mistakes))


def _printable(sentence: str) -> str:
    """Return a sentence on one line; a mistake keeps its place."""
    text = escaped(sentence)
    return Mistake(text, "", place=sentence.place) if isinstance(sentence, Mistake) else text


def wrong(path: str, value: object, allowed: str, *, place: str | None = None) -> Mistake:
    """Return the sentence about a value that is not allowed."""
    return Mistake(path, f" is {seen(value)}; allowed: {allowed}.", place=place)


def unknown_key(path: str, key: object, known: Sequence[str]) -> Mistake:
    """Return the sentence about an unknown key, with the nearest known one if there is one."""
    near = difflib.get_close_matches(str(key), known, n=1)
    offer = f'did you mean "{near[0]}"? Allowed' if near else "allowed"
    rest = f" is not a known key; {offer} here: {', '.join(sorted(known))}."
    return Mistake(path, rest)


def seen(value: object) -> str:
    """Return a value as YAML shows it, cut to 80 characters, without the user of an address."""
    if isinstance(value, Mapping):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "empty"
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else f"{'-' if value < 0 else ''}.inf"
    text = _USER.sub("…@", str(value))
    shown = text if len(text) <= 80 else f"{text[:77]}..."
    return f'"{shown}"' if isinstance(value, str) else shown


def dotted(path: str, parts: Iterable[int | str]) -> str:
    """Return a YAML path below `path`, such as pools.dgx.machines[0].name.

    A path that ends with a colon is a line of a file, whose parts stand behind it.
    """
    for part in parts:
        if path.endswith(":"):
            path += f" {part}"
        else:
            path += f"[{part}]" if isinstance(part, int) else f".{part}"
    return path


def sentences(
    path: str, root: type, error: ValidationError, places: Places = NOWHERE_ELSE
) -> list[Mistake]:
    """Return the sentences about what pydantic found wrong in a value of type `root`."""
    details = error.errors()
    # for an invalid entry pydantic also reports its list as too short
    within = {detail["loc"][:depth] for detail in details for depth in range(len(detail["loc"]))}
    return [_sentence(path, root, each, places) for each in details if each["loc"] not in within]


def _sentence(path: str, root: type, detail: ErrorDetails, places: Places) -> Mistake:
    loc = detail["loc"]
    if loc[-1:] == ("[key]",):
        names = allowed(_at(root, loc))
        of = f"{dotted(path, loc[:-2])}: a name"
        return wrong(of, detail["input"], names, place=dotted(path, loc[:-1]))
    if loc[:2] in places:
        place = dotted(places[loc[:2]], loc[2:]).removesuffix(":")
    else:
        place = dotted(path, loc)
    if detail["type"] == "unexpected_keyword_argument":
        if detail["input"] is None and str(loc[-1]).isdigit():
            return Mistake(place, f" is not a known key; {_COMMA}.")
        parent = _at(root, loc[:-1])
        return unknown_key(place, loc[-1], _keys(_bare(parent)))
    expected = allowed(_at(root, loc))
    if detail["type"] == "missing":
        return Mistake(place, f" is missing; allowed: {expected}.")
    return wrong(place, detail["input"], expected)


def allowed(kind: object) -> str:
    """Return what a type allows, in words: its description where it has one."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        fields = [extra for extra in arguments[1:] if isinstance(extra, FieldInfo)]
        described = [field.description for field in fields if field.description]
        return described[0] if described else allowed(arguments[0])
    if origin is Literal:
        return ", ".join(str(choice) for choice in arguments)
    if origin in (Union, UnionType):
        return allowed(arguments[0])
    if origin is tuple:
        return "a list"
    if _keys(kind):
        return f"a mapping with {', '.join(_keys(kind))}"
    return _SCALARS.get(kind, "a mapping")


def _keys(kind: object) -> list[str]:
    """Return the fields of a dataclass; none for another type."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return [field.name for field in dataclasses.fields(kind)]
    return []


def _at(kind: object, parts: Sequence[int | str]) -> object:
    """Return the type at a path below `kind`."""
    for part in parts:
        kind = _bare(kind)
        if isinstance(part, int):
            kind = get_args(kind)[0]
        elif get_origin(kind) is Mapping:
            key, kind = get_args(kind)
            if parts[-1] == "[key]":  # pydantic's path of the name of an entry
                return key
        else:
            kind = get_type_hints(kind, include_extras=True)[part]
    return kind


def _bare(kind: object) -> object:
    """Return a type without its annotations and without `| None`."""
    while get_origin(kind) in (Annotated, Union, UnionType):
        kind = get_args(kind)[0]
    return kind
