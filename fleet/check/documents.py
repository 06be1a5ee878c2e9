"""Reads YAML and JSON documents with the scalars that kubectl reads.

Nothing is a date, `8080:80` and `=` are text, and a duplicate key is an error.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import yaml

from fleet.check.events import Events, Unusual

_OWN = ("timestamp", "int", "float", "value")
_DEEPEST = 500  # libyaml would end the process where its stack does; a CRD is some 60 deep
_MOST_REPEATED = 100_000  # values that anchors may add to a document; kubectl has such a bound, too
_PAIR = re.compile(
    r"(?<!\\)((?:\\\\)*)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE
)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # chosen when it runs
    """YAML as kubectl reads it."""

    _depth = 0

    def descend_resolver(self, current_node: Any, current_index: Any) -> None:
        """Runs for every node on the way down."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise RecursionError
        super().descend_resolver(current_node, current_index)

    def ascend_resolver(self) -> None:
        """Runs for every node on the way up."""
        self._depth -= 1
        super().ascend_resolver()

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        """Reports the line of a scalar that does not fit its type, such as `!!bool maybe`."""
        try:
            return super().construct_object(node, deep=deep)
        except (AttributeError, LookupError, ValueError):
            kind = node.tag.rpartition(":")[2]
            raise _refused(f"a value here cannot be read as {kind}", node) from None


_Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in forms if tag.rpartition(":")[2] not in _OWN]
    for first, forms in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int",
    re.compile(r"[-+]?(?:0x[0-9a-fA-F]+|0o?[0-7]+|0|[1-9][0-9]*)$"),
    list("-+0123456789"),
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$"),
    list("-+.0123456789"),
)


@dataclass(frozen=True, kw_only=True)
class Document:
    """The value of a document, with whole numbers as `int`, and the line of its beginning."""

    value: Any
    line: int
    lines: Mapping[int, Sequence[int]]

    def lines_of(self, items: list[Any]) -> Sequence[int]:
        """The lines of the items of a list that a mapping in the document has as `items`."""
        return self.lines[id(items)]


def documents(text: str) -> Iterator[Document]:
    """Yield each document; raises YAMLError, or RecursionError if too deep."""
    text = _without_pairs(text)
    try:
        found = list(_quickly(text))
    except (Unusual, yaml.YAMLError, RecursionError):
        yield from _carefully(text)
    else:
        yield from found


def _quickly(text: str) -> Iterator[Document]:
    if not hasattr(yaml, "CSafeLoader"):
        raise Unusual
    events = Events(text, _plain)
    for value, line in events.documents():
        yield Document(value=value, line=line, lines=events.lines)


@lru_cache(maxsize=65_536)
def _plain(text: str) -> Any:
    """Reads a scalar without quotes as the other reader does."""
    loader = _Loader("")
    try:
        tag = loader.resolve(yaml.ScalarNode, text, (True, False))
        return _whole(loader.construct_object(yaml.ScalarNode(tag, text)))
    finally:
        loader.dispose()


def _carefully(text: str) -> Iterator[Document]:
    loader = _Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            sizes: dict[int, int] = {}
            if _size(node, sizes) > len(sizes) + _MOST_REPEATED:
                raise _refused("its anchors repeat too much", node)
            value = _whole(loader.construct_document(node))
            lines = dict(_lines(node, value))
            yield Document(value=value, line=node.start_mark.line + 1, lines=lines)
    finally:
        loader.dispose()


def _lines(node: Any, value: Any) -> Iterator[tuple[int, list[int]]]:
    """Yields the lines of the items of a List, and of the Lists among them."""
    items = value.get("items") if isinstance(value, dict) else None
    if not isinstance(items, list):
        return
    nodes = next(each.value for key, each in node.value if key.value == "items")
    yield id(items), [each.start_mark.line + 1 for each in nodes]
    for item_node, item in zip(nodes, items, strict=True):
        yield from _lines(item_node, item)


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _whole(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_whole(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _size(node: Any, sizes: dict[int, int]) -> int:
    """Counts the values of a node; refuses duplicate keys and cycles.

    Kubernetes would see only one value of a duplicate key.
    """
    if isinstance(node, yaml.ScalarNode):
        return sizes.setdefault(id(node), 1)
    if (known := sizes.get(id(node))) is not None:
        if not known:
            raise _refused("an anchor here holds itself", node)
        return known
    sizes[id(node)] = 0
    inside = node.value
    if isinstance(node, yaml.MappingNode):
        keys = [key for key, _ in inside if isinstance(key, yaml.ScalarNode)]
        seen: set[str] = set()
        for key in keys:
            if key.value in seen and key.value != "<<":
                raise _refused(f"the key {key.value!r} is there twice", key)
            seen.add(key.value)
        inside = [each for pair in inside for each in pair]
    size = sizes[id(node)] = 1 + sum(_size(each, sizes) for each in inside)
    return size


def _refused(what: str, node: Any) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, what, node.start_mark)


def _without_pairs(text: str) -> str:
    """Joins surrogate pairs, which JSON uses for some characters and YAML does not."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    return _PAIR.sub(
        lambda pair: pair[1] + bytes.fromhex(pair[2] + pair[3]).decode("utf-16-be"), text
    )
