"""Checks inputs against the types of the SDK: unknown, missing and wrongly typed properties."""

import difflib
from collections.abc import Iterator

from rehearsal.providers.contract import Failure
from rehearsal.providers.difference import join
from rehearsal.providers.sdk_types import Anything, ListOf, MapOf, Object, OneOf, Shape, Simple
from rehearsal.providers.values import Asset, Secret, Unknown, Value, shown


def problems(shape: Shape, value: Value, path: str = "") -> Iterator[Failure]:
    """Yields each mismatch between `value` and `shape`; an unknown value passes."""
    match shape, value:
        case (_, Unknown()) | (Anything(), _):
            return
        case _, Secret():
            yield from _veiled(shape, value, path)
        case Object(), dict():
            yield from _object_problems(shape, value, path)
        case ListOf(), list():
            for index, item in enumerate(value):
                yield from problems(shape.item, item, join(path, index))
        case MapOf(), dict():
            for key, item in value.items():
                yield from problems(shape.value, item, join(path, key))
        case _ if not _fits(shape, value):
            yield Failure(
                path=path, sentence=f"{path} is {shown(value)}, but it must be {_described(shape)}."
            )


def _veiled(shape: Shape, secret: Secret, path: str) -> Iterator[Failure]:
    for failure in problems(shape, secret.value, path):
        yield Failure(
            path=failure.path,
            sentence=f"{failure.path} is a secret value that does not fit: "
            f"{path} must be {_described(shape)}.",
        )


def _object_problems(shape: Object, value: dict[str, Value], path: str) -> Iterator[Failure]:
    for key, item in value.items():
        if key in shape.fields:
            if item is not None:
                yield from problems(shape.fields[key], item, join(path, key))
        elif not key.startswith("__"):
            where = join(path, key)
            nearest = difflib.get_close_matches(key, shape.fields, n=1)
            hint = f"did you mean {nearest[0]}?" if nearest else f"known are {_listed(shape)}."
            yield Failure(path=where, sentence=f"{where} is not a property of {shape.name}; {hint}")
    for key in sorted(shape.required):
        if value.get(key) is None:
            where = join(path, key)
            yield Failure(
                path=where,
                sentence=f"{where} is missing, but {shape.name} needs it: "
                f"{_described(shape.fields[key])}.",
            )


def _listed(shape: Object) -> str:
    return ", ".join(sorted(shape.fields))


def _fits(shape: Shape, value: Value) -> bool:
    match shape:
        case Simple("a string"):
            return isinstance(value, str)
        case Simple("true or false"):
            return isinstance(value, bool)
        case Simple("a file"):
            return isinstance(value, Asset)
        case Simple("a whole number" | "a number"):
            return _is_number(value, whole=shape.word == "a whole number")
        case OneOf():
            return value in shape.values
        case _:
            return False


def _is_number(value: Value, *, whole: bool) -> bool:
    # The real providers take "123" for 123: ids are strings where they come out and numbers where
    # they go in.
    if isinstance(value, str):
        return value.removeprefix("-").isdecimal()
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and not whole)


def _described(shape: Shape) -> str:
    match shape:
        case Simple():
            return shape.word
        case OneOf():
            return "one of " + ", ".join(shape.values)
        case ListOf():
            return f"a list, each item {_described(shape.item)}"
        case MapOf():
            return f"an object, each value {_described(shape.value)}"
        case Object():
            return f"an object with {', '.join(sorted(shape.required) or sorted(shape.fields))}"
        case _:
            return "any value"
