"""Reads YAML as Go's yaml.v3 does for Butane: typed by the schema, each value with its line.

yaml.v3 differs from PyYAML in what a scalar is: `0644` and `0o644` are octal, `yes` is a boolean
only where one is wanted, any plain scalar can be a string, and a key given twice is an error.
"""

import re
from collections.abc import Iterator

import yaml

from ignition.butane.problems import Mild, Path, Problem
from ignition.butane.schema import ListOf, Scalar, Struct

try:
    from yaml import CSafeLoader as _Base
except ImportError:  # PyYAML built without libyaml
    from yaml import SafeLoader as _Base  # type: ignore[assignment]  # same interface, slower

_PLAIN, _QUOTED = "plain", "quoted"
_NULLS = {"", "~", "null", "Null", "NULL"}
_TRUE = {"true", "True", "TRUE"}
_FALSE = {"false", "False", "FALSE"}
# read by yaml.v3 for a boolean field, quoted or not
_YES = {"y", "Y", "yes", "Yes", "YES", "on", "On", "ON"}
_NO = {"n", "N", "no", "No", "NO", "off", "Off", "OFF"}
_INTEGER = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_BITS = 63


class _Loader(_Base):
    """Tags each scalar as plain or quoted, which PyYAML would otherwise not keep."""

    def resolve(self, kind: type[yaml.Node], value: str | None, implicit: object) -> str:  # noqa: ARG002  # PyYAML's signature
        if kind is not yaml.ScalarNode:
            return _PLAIN
        assert isinstance(implicit, tuple)  # noqa: S101  # (plain, quoted) for scalars
        return _PLAIN if implicit[0] else _QUOTED


class YamlError(ValueError):
    """Text that is not YAML; the message has the line."""


class YamlDocument:
    """A parsed document. `problems` gathers one sentence for each mistake found while decoding."""

    def __init__(self, source: str) -> None:
        try:
            loader = _Loader(source)
            try:
                self.root: yaml.Node | None = loader.get_single_node()
            finally:
                loader.dispose()
        except yaml.YAMLError as error:
            raise YamlError(" ".join(str(error).split())) from error
        self.problems: list[Problem] = []
        self._marks: dict[Path, yaml.Mark] = {}
        self._seen: set[int] = set()

    def say(self, path: Path, sentence: str) -> None:
        """Add a problem at a path; the line is that of the path or of its nearest parent."""
        known = path
        while known and known not in self._marks:
            known = known[:-1]
        mark = self._marks.get(known)
        self.problems.append(
            Problem(
                path=path,
                sentence=sentence,
                line=None if mark is None else mark.line + 1,
                column=None if mark is None else mark.column + 1,
                warning=isinstance(sentence, Mild),
            )
        )

    @property
    def refused(self) -> bool:
        """True where one of the problems is more than a warning."""
        return any(not problem.warning for problem in self.problems)

    def header(self, key: str) -> str | None:
        """A top-level scalar, read before the version of the schema is known."""
        if not isinstance(self.root, yaml.MappingNode):
            return None
        for name, value in self.root.value:
            if name.value == key and isinstance(value, yaml.ScalarNode):
                return None if _is_null(value) else str(value.value)
        return None

    def decode(self, struct: Struct) -> dict[str, object]:
        """The document as plain values by its schema, nulls left out."""
        value = self._struct(self.root, struct, ())
        return value if value is not None else {}

    def _value(self, node: yaml.Node, kind: Scalar | Struct | ListOf, path: Path) -> object | None:
        self._marks[path] = node.start_mark
        if node.tag not in (_PLAIN, _QUOTED):
            self.say(path, f"the tag {node.tag} is not read; write the plain value")
            return None
        if isinstance(kind, Struct):
            return self._struct(node, kind, path)
        if isinstance(kind, ListOf):
            return self._list(node, kind, path)
        return self._scalar(node, kind, path)

    def _struct(
        self, node: yaml.Node | None, struct: Struct, path: Path
    ) -> dict[str, object] | None:
        if path and node is not None and _is_null(node):
            self.say(path, Mild("is empty; leave the key out"))
            return None
        if not isinstance(node, yaml.MappingNode):
            self.say(path, f"must be a mapping with {', '.join(struct.fields)}")
            return None
        if id(node) in self._seen:
            self.say(path, "an alias of a mapping is not read; write the mapping out")
            return None
        self._seen.add(id(node))
        values: dict[str, object] = {}
        for name, child in self._keys(node, struct, path):
            value = self._value(child, struct.fields[name].type, (*path, name))
            if value is not None:
                values[name] = value
        return values

    def _keys(
        self, node: yaml.MappingNode, struct: Struct, path: Path
    ) -> Iterator[tuple[str, yaml.Node]]:
        given: set[str] = set()
        for key, child in node.value:
            name = str(key.value)
            self._marks[(*path, name)] = key.start_mark
            if name in given:
                self.say((*path, name), "is given twice")
            elif not isinstance(key, yaml.ScalarNode) or name not in struct.fields:
                self._unknown(name, child, struct, path)
            else:
                yield name, child
            given.add(name)

    def _unknown(self, name: str, child: yaml.Node, struct: Struct, path: Path) -> None:
        if struct.kind == "luks" and name == "clevis":  # known to Butane, and refused for flatcar
            if not _is_null(child):
                self._marks[(*path, name)] = child.start_mark
                self.say((*path, name), "clevis is not supported by flatcar")
            return
        known = ", ".join(struct.fields)
        self.say((*path, name), Mild(f"unused key {name}; known here: {known}"))

    def _list(self, node: yaml.Node, kind: ListOf, path: Path) -> list[object] | None:
        if _is_null(node):
            return None
        if not isinstance(node, yaml.SequenceNode):
            self.say(path, "must be a list")
            return None
        values = []
        for position, child in enumerate(node.value):
            if isinstance(kind.item, Struct) and _is_null(child):
                self.say((*path, position), "is empty")
                continue
            value = self._value(child, kind.item, (*path, position))
            if value is not None:
                values.append(value)
        return values

    def _scalar(self, node: yaml.Node, kind: Scalar, path: Path) -> object | None:
        if not isinstance(node, yaml.ScalarNode):
            self.say(path, f"must be of type {kind}")
            return None
        if _is_null(node):
            return None
        if kind == "string":
            return str(node.value)
        value = _boolean(node) if kind == "boolean" else _integer(node)
        if value is None:
            self.say(path, f'must be of type {kind}, not "{node.value}"')
        return value


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == _PLAIN and node.value in _NULLS


def _boolean(node: yaml.ScalarNode) -> bool | None:
    text, plain = node.value, node.tag == _PLAIN
    if text in _YES or (plain and text in _TRUE):
        return True
    if text in _NO or (plain and text in _FALSE):
        return False
    return None


def _integer(node: yaml.ScalarNode) -> int | None:
    text = node.value.replace("_", "")
    if node.tag != _PLAIN or node.value.startswith("_"):
        return None
    match = _INTEGER.fullmatch(text)
    if match is None:
        # yaml.v3 takes a float for an integer field; one with a fraction is a slip of the pen
        number = float(text) if _FLOAT.fullmatch(text) else None
        return int(number) if number is not None and number == int(number) else None
    digits = match[2].lower()
    if len(digits) > 1 and digits[0] == "0" and digits[1] in "01234567":
        digits = f"0o{digits[1:]}"
    value = int(digits, 0) * (-1 if match[1] == "-" else 1)
    return value if -(1 << _BITS) <= value < 1 << _BITS else None
