"""Reads YAML and JSON documents with the scalars that kubectl reads.

Nothing is a date, `8080:80` is text, and a duplicate key is an error.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml

_OWN = ("timestamp", "int", "float")
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


def documents(text: str) -> Iterator[tuple[Any, yaml.Node]]:
    """Yields each document's value and node; raises YAMLError, or RecursionError if too deep."""
    loader = _Loader(_without_pairs(text))
    try:
        while loader.check_node():
            node = loader.get_node()
            sizes: dict[int, int] = {}
            if _size(node, sizes) > len(sizes) + _MOST_REPEATED:
                raise _refused("its anchors repeat too much", node)
            yield loader.construct_document(node), node
    finally:
        loader.dispose()


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
