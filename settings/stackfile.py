"""A stack file on disk: Pulumi's YAML, read as Pulumi reads it."""

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

MOST_VALUES = 100_000  # of a stack file: more machines than a cluster may have nodes


def environments(root: Path) -> tuple[str, ...]:
    """The environments of a checkout, in alphabetical order."""
    files = (root / "stacks").glob("Pulumi.*.yaml")
    return tuple(sorted(path.name.removeprefix("Pulumi.").removesuffix(".yaml") for path in files))


def stack_file(root: Path, environment: str) -> Path:
    """The stack file of an environment; SettingsError names the environments where it has none."""
    path = root / "stacks" / f"Pulumi.{environment}.yaml"
    if not path.is_file():
        known = ", ".join(environments(root)) or "none yet"
        raise SettingsError(
            [f'there is no environment "{environment}" (stacks/{path.name}); known: {known}.']
        )
    return path


def load(path: Path, parsed: Callable[[str, Mapping[str, object]], T]) -> T:
    """Return what `parsed` makes of a stack file's environment and configuration.

    Raises SettingsError with every mistake of the file.
    """
    environment = path.name.removeprefix("Pulumi.").removesuffix(".yaml")
    config, mistakes = _ours(_read(path), environment)
    try:
        found = parsed(environment, config)
    except SettingsError as error:
        raise SettingsError([*mistakes, *error.mistakes]) from None
    if mistakes:
        raise SettingsError(mistakes)
    return found


def _read(path: Path) -> Mapping[object, object]:
    """The `config` of a stack file."""
    try:
        document = yaml.load(path.read_text("utf-8"), _Loader)  # noqa: S506  # a SafeLoader
        # as Pulumi hands it over: finite, and a date is text
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
    """A date without quotes, as Pulumi writes it: a form that no value of ours has."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return f"{value} 00:00:00 +0000 UTC"
    return str(value)


def _values(node: yaml.Node, counted: dict[int, int]) -> int:
    """How many values a node stands for once its aliases are written out."""
    if id(node) not in counted:
        counted[id(node)] = 1  # while it is counted: an alias within itself is told elsewhere
        parts = node.value if isinstance(node, yaml.CollectionNode) else ()
        pairs = chain.from_iterable(parts) if isinstance(node, yaml.MappingNode) else parts
        counted[id(node)] = 1 + sum(_values(part, counted) for part in pairs)
    return counted[id(node)]


def _reason(error: Exception) -> str:
    """Why a file is no YAML, in the cases where the parser does not say it in a sentence."""
    match error:
        case UnicodeDecodeError():
            return f"its byte {error.start + 1} is not UTF-8"
        case yaml.reader.ReaderError():
            return f"its character {error.position + 1} (U+{error.character:04X}) is not allowed"
        case RecursionError():
            return "it is nested too deeply"
        case _ if "Circular" in str(error):
            return "an alias stands within what it refers to"
        case _:
            return str(error).splitlines()[0]


def _ours(config: Mapping[object, object], environment: str) -> tuple[dict[str, object], list[str]]:
    """Our keys without their namespace, and what is wrong with the keys themselves."""
    ours: dict[str, object] = {}
    mistakes = []
    for key, value in config.items():
        namespace, colon, name = str(key).partition(":")
        if not colon:
            mistakes.append(f'the key "{key}" has no namespace; allowed: {PROJECT}:{key}.')
        elif namespace == PROJECT and name not in SECRETS:
            ours[name] = value
        elif namespace == PROJECT and not (isinstance(value, Mapping) and "secure" in value):
            mistakes.append(
                f"{key} stands in clear in the stack file; allowed: an encrypted value, set by "
                f"`{how_to_set(name, environment)}`."
            )
        elif namespace != PROJECT and difflib.get_close_matches(namespace, [PROJECT]):
            mistakes.append(
                f'{key} is not a known key; did you mean "{PROJECT}:{name}"? Pulumi would read '
                "it for nobody."
            )
    return ours, mistakes


class _Loader(yaml.SafeLoader):
    """Refuses a key that stands twice, as Pulumi does; plain YAML would keep the last.

    Refuses aliases within aliases, too, of which a short file makes more than any memory holds.
    Takes `yes` and `1:30` for text, as Pulumi does; to YAML 1.1 they are true and 90.
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
            raise yaml.YAMLError(f"its aliases make more than {MOST_VALUES} values of it")
        return node

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Hashable, object]:
        keys: set[Hashable] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue  # what it brings may stand in the mapping, too: that goes before it
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str | int | float):
                raise yaml.constructor.ConstructorError(
                    None, None, f"a key is {seen(key)}", key_node.start_mark
                )
            if key in keys:
                raise yaml.constructor.ConstructorError(
                    None, None, f'key "{key}" stands twice', key_node.start_mark
                )
            keys.add(key)
        return super().construct_mapping(node, deep)


def _timestamp(loader: _Loader, node: yaml.ScalarNode) -> object:
    """Leaves what is no day of the calendar, such as 2027-02-30, to be judged as text."""
    try:
        return loader.construct_yaml_timestamp(node)
    except ValueError:
        return node.value


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _timestamp)
