"""Which objects of a chart have the form that every object of Kubernetes has.

What lacks it cannot be sent: its name is part of an address. Everything else is left to the API
server, which says it better. Names: IsPathSegmentName in apimachinery v0.36.3,
pkg/api/validate/content, and the 253 characters of a DNS subdomain.
"""

import json
from collections.abc import Iterator, Mapping

LONGEST = 253
_SHOWN = 60
_NAME = f"1 to {LONGEST} printable characters without / and %"
_KIND = f"1 to {LONGEST} printable characters without a space"


def faults(thing: object) -> Iterator[str]:
    """Yields what keeps an object from being sent: the field, its value, what is allowed."""
    if not isinstance(thing, Mapping):
        yield f"{_shown(thing)} stands where an object must be, with apiVersion, kind and metadata."
        return
    for field in ("apiVersion", "kind"):
        if not _is_kind(thing.get(field)):
            yield f"{field} is {_shown(thing.get(field))}; allowed: {_KIND}."
    metadata = thing.get("metadata")
    if not isinstance(metadata, Mapping):
        yield f"metadata is {_shown(metadata)}; allowed: a mapping with a name."
        return
    for field in ("name", "namespace"):
        if metadata.get(field) is not None and not _is_name(metadata[field]):
            yield f"metadata.{field} is {_shown(metadata[field])}; allowed: {_NAME}."
    for field in ("labels", "annotations"):
        if metadata.get(field) is not None and not isinstance(metadata[field], Mapping):
            yield f"metadata.{field} is {_shown(metadata[field])}; allowed: a mapping."
    if not metadata.get("name"):
        yield f"{thing.get('kind')} has no metadata.name, without which Helm cannot install it."


def _is_name(value: object) -> bool:
    return (
        isinstance(value, str)
        and len(value) <= LONGEST
        and value.isprintable()
        and value not in (".", "..")
        and not set(value) & {"/", "%"}
    )


def _is_kind(value: object) -> bool:
    return (
        isinstance(value, str)
        and 0 < len(value) <= LONGEST
        and value.isprintable()
        and " " not in value
    )


def _shown(value: object) -> str:
    """A value as one line of ASCII, for a terminal."""
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
