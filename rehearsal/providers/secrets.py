"""Marks outputs as secret where their inputs are, and finds secret texts in values."""

from collections.abc import Iterator, Mapping

from rehearsal.providers.values import Properties, Secret, Value, has_secret, plain


def secret_texts(value: Value) -> Iterator[str]:
    """Every secret text in a value, so that it can be removed from a message."""
    match value:
        case Secret():
            yield from _texts(plain(value))
        case dict():
            for item in value.values():
                yield from secret_texts(item)
        case list():
            for item in value:
                yield from secret_texts(item)


def _texts(value: Value) -> Iterator[str]:
    match value:
        case str() if value:
            yield value
        case dict():
            for item in value.values():
                yield from _texts(item)
        case list():
            for item in value:
                yield from _texts(item)


def conceal(value: Value, like: Value) -> Value:
    """`value`, with each part marked secret whose place in `like` is secret.

    Where the two differ in shape and `like` holds a secret, all of `value` becomes secret.
    """
    if isinstance(value, Secret) or not has_secret(like):
        return value
    match value, like:
        case dict(), dict():
            return {key: conceal(item, like.get(key)) for key, item in value.items()}
        case list(), list() if len(value) == len(like):
            return [conceal(item, other) for item, other in zip(value, like, strict=True)]
        case _:
            return Secret(value)


def conceal_properties(properties: Mapping[str, Value], like: Mapping[str, Value]) -> Properties:
    """`conceal` for a set of properties."""
    return {key: conceal(value, like.get(key)) for key, value in properties.items()}
