"""Reads stack files from disk as Pulumi reads them."""

import difflib
import json
from collections.abc import Callable, Hashable, Mapping
from datetime import date, datetime
from itertools import chain
from pathlib import Path
from typing import TypeVar

import yaml

from settings.names import PROJECT
from settings.problems import SettingsError, seen
from settings.secrets import SECRETS, how_to_set

T = TypeVar("T")

MOST_VALUES = 100_000  # of a stack file: enough for more machines than a cluster may have nodes


def environments(root: Path) -> tuple[str, ...]:
    """Return the names of a checkout's environments, in alphabetical order."""
    files = (root / "stacks").glob("Pulumi.*.yaml")
    return tuple(sorted(path.name.removeprefix("Pulumi.").removesuffix(".yaml") for path in files))


def stack_file(root: Path, environment: str) -> Path:
    """Return the stack file of an environment.

    Raises SettingsError with the known environments where there is no such file.
    """
    path = root / "stacks" / f"Pulumi.{environment}.yaml"
    if not path.is_file():
        known = ", ".join(environments(root)) or "none yet"
        raise SettingsError(
            [f'there is no environment "{environment}" (stacks/{path.name}); known: {known}.']
        )
    return path


def load(path: Path, parsed: Callable[[str, Mapping[str, object]], T]) -> T:
    """Return the result of `parsed` for the environment and configuration of a stack file.

    Raises SettingsError with every mistake of the file.
    """
    environment = path.name.removeprefix("Pulumi.").removesuffix(".yaml")
    config, mistakes = _own_keys(_read(path), environment)
    try:
        found = parsed(environment, config)
    except SettingsError as error:
        raise SettingsError([*mistakes, *error.mistakes]) from None
    if mistakes:
        raise SettingsError(mistakes)
    return found


def _read(path: Path) -> Mapping[object, object]:
    """Return the section `config` of a stack file."""
    try:
        document = yaml.load(path.read_text("utf-8"), _Loader)  # noqa: S506  # a SafeLoader
        # Pulumi hands JSON over: no cycles, and dates as text
        document = json.loads(json.dumps(document, default=_date))
    except OSError as error:
        raise SettingsError([f"{path} cannot be read: {error.strerror}."]) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = str(error.problem).removeprefix("but ")
        raise SettingsError([f"{path}{where} is not YAML: {problem}."]) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SettingsError([f"{path} is not YAML: {_reason(error)}."]) from None
    config = document.get("config") if isinstance(document, Mapping) else None
    if not isinstance(config, Mapping):
        raise SettingsError([f"{path} has no settings; allowed: a mapping under `config:`."])
    return config


def _date(value: object) -> str:
    """Return an unquoted date as Pulumi writes it, which no type in settings allows."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return f"{value} 00:00:00 +0000 UTC"
    return str(value)


def _values(node: yaml.Node, counted: dict[int, int]) -> int:
    """Return the number of values in a node, with its aliases expanded."""
    if id(node) not in counted:
        counted[id(node)] = 1  # for an alias within itself, which json.dumps reports
        parts = node.value if isinstance(node, yaml.CollectionNode) else ()
        pairs = chain.from_iterable(parts) if isinstance(node, yaml.MappingNode) else parts
        counted[id(node)] = 1 + sum(_values(part, counted) for part in pairs)
    return counted[id(node)]


def _reason(error: Exception) -> str:
    """Return why a file is not YAML, where the parser has no sentence for it."""
    match error:
        case UnicodeDecodeError():
            return f"its byte {error.start + 1} is not UTF-8"
        case yaml.reader.ReaderError():
            return f"its character {error.position + 1} (U+{error.character:04X}) is not allowed"
        case RecursionError():
            return "it is nested too deeply"
        case _ if "Circular" in str(error):
            return "an alias refers to a value that contains it"
        case _:
            return str(error).splitlines()[0]


def _own_keys(
    config: Mapping[object, object], environment: str
) -> tuple[dict[str, object], list[str]]:
    """Return the keys of this program without their namespace, and the mistakes in keys."""
    own: dict[str, object] = {}
    mistakes = []
    for key, value in config.items():
        namespace, colon, name = str(key).partition(":")
        if not colon:
            mistakes.append(f'the key "{key}" has no namespace; allowed: {PROJECT}:{key}.')
        elif namespace == PROJECT and name not in SECRETS:
            own[name] = value
        elif namespace == PROJECT and not (isinstance(value, Mapping) and "secure" in value):
            mistakes.append(
                f"{key} is in plain text in the stack file; allowed: an encrypted value, set by "
                f"`{how_to_set(name, environment)}`."
            )
        elif namespace != PROJECT and difflib.get_close_matches(namespace, [PROJECT]):
            mistakes.append(
                f'{key} is not a known key; did you mean "{PROJECT}:{name}"? Keys of '
                "other namespaces are not read."
            )
    return own, mistakes


class _Loader(yaml.SafeLoader):
    """A YAML loader that agrees with Pulumi's.

    It refuses duplicate keys, of which plain YAML keeps the last, and reads `yes` and `1:30` as
    text, which are true and 90 in YAML 1.1. It also refuses a file whose nested aliases expand to
    more values than fit into memory.
    """

    def resolve(self, kind: type[yaml.Node], value: str | None, implicit: tuple[bool, bool]) -> str:
        tag: str = super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]  # has no types
        if kind is not yaml.ScalarNode or value is None or not implicit[0]:
            return tag
        type_ = tag.rpartition(":")[2]
        is_word = type_ == "bool" and value.lower() not in ("true", "false")
        is_clock = type_ in ("int", "float") and ":" in value
        return str(self.DEFAULT_SCALAR_TAG) if is_word or is_clock else tag

    def get_single_node(self) -> yaml.Node | None:
        node: yaml.Node | None = super().get_single_node()
        if node is not None and _values(node, {}) > MOST_VALUES:
            raise yaml.YAMLError(f"it has more than {MOST_VALUES} values, aliases expanded")
        return node

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Hashable, object]:
        keys: set[Hashable] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue  # the mapping's own keys override those of the merged one
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str | int | float):
                raise yaml.constructor.ConstructorError(
                    None, None, f"a key is {seen(key)}", key_node.start_mark
                )
            if key in keys:
                raise yaml.constructor.ConstructorError(
                    None, None, f'duplicate key "{key}"', key_node.start_mark
                )
            keys.add(key)
        return super().construct_mapping(node, deep)


def _timestamp(loader: _Loader, node: yaml.ScalarNode) -> object:
    """Return a date; one that is not in the calendar, such as 2027-02-30, stays text."""
    try:
        return loader.construct_yaml_timestamp(node)
    except ValueError:
        return node.value


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _timestamp)
