"""Reads plain YAML quickly, from libyaml's events.

What is rare in manifests (anchors, tags, keys that are no text, any mistake, more levels than
Python has frames for) is left to the reader of `fleet.check.documents`, which also knows what to
say of a mistake.
"""

from collections.abc import Callable, Iterator
from typing import Any

import yaml

_MERGE = "<<"  # a key that means more than its text


class Unusual(Exception):  # noqa: N818  # no error: the other reader takes over
    """Something in a text that this reader leaves to the other one."""


class Events:
    """The values of a text's documents.

    `scalar` reads a plain scalar; the same text has the same value everywhere. `lines` has the
    lines of the items of each list called `items`, by the list's identity.
    """

    def __init__(self, text: str, scalar: Callable[[str], Any]) -> None:
        self.lines: dict[int, list[int]] = {}
        self._loader = yaml.CSafeLoader(text)
        self._scalar = scalar

    def documents(self) -> Iterator[tuple[Any, int]]:
        """Yield each document's value and line; raise Unusual or YAMLError."""
        take = self._loader.get_event
        try:
            while (event := take()) is not None:
                if type(event) is yaml.DocumentStartEvent:
                    root = take()
                    yield self._value(root), _line(root)
        finally:
            self._loader.dispose()

    def _value(self, event: Any) -> Any:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            if event.anchor is not None or event.tag is not None:
                raise Unusual
            text = event.value
            return self._scalar(text) if event.implicit[0] else text
        if kind is yaml.AliasEvent or event.anchor is not None or event.tag is not None:
            raise Unusual
        return self._mapping() if kind is yaml.MappingStartEvent else self._list()

    def _mapping(self) -> dict[str, Any]:
        take, made = self._loader.get_event, dict[str, Any]()
        while type(event := take()) is not yaml.MappingEndEvent:
            if type(event) is not yaml.ScalarEvent:
                raise Unusual
            key = self._value(event)
            if type(key) is not str or key in made or key == _MERGE:
                raise Unusual
            event = take()
            if key == "items" and type(event) is yaml.SequenceStartEvent:
                made[key] = self._items(event)
            else:
                made[key] = self._value(event)
        return made

    def _list(self) -> list[Any]:
        take, made = self._loader.get_event, list[Any]()
        while type(event := take()) is not yaml.SequenceEndEvent:
            made.append(self._value(event))
        return made

    def _items(self, start: Any) -> list[Any]:
        if start.anchor is not None or start.tag is not None:
            raise Unusual
        take, made, lines = self._loader.get_event, list[Any](), list[int]()
        while type(event := take()) is not yaml.SequenceEndEvent:
            lines.append(_line(event))
            made.append(self._value(event))
        self.lines[id(made)] = lines
        return made


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1
