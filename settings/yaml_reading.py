"""Reads YAML as Pulumi reads it, and says in one sentence what is wrong with a file."""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import yaml

from settings.lookalikes import odd_blanks
from settings.problems import SettingsError, seen

MOST_VALUES = 100_000  # of a file: enough for more machines than a cluster may have nodes
MOST_LEVELS = 100  # of nesting: libyaml's own stack ends the process at some 20,000


def path_from_here(path: Path) -> str:
    """Return a path as a terminal can open it: below the working directory without that."""
    here = Path.cwd()
    absolute = here / path
    return str(absolute.relative_to(here) if absolute.is_relative_to(here) else path)


def text_of(path: Path) -> str:
    """Return the text of a file without its byte order mark."""
    return path.read_text("utf-8-sig")


@contextmanager
def yaml_errors(path: Path) -> Iterator[None]:
    """Turn what may go wrong with the YAML file at `path` into a SettingsError."""
    try:
        yield
    except OSError as error:
        raise SettingsError([f"{path_from_here(path)} cannot be read: {error.strerror}."]) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        problem = str(error.problem).removeprefix("but ")
        blanks = _odd_blanks(path, mark.line) if mark else ""
        raise SettingsError(
            [f"{path_from_here(path)}{where}: this is not YAML: {problem}{blanks}."]
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SettingsError(
            [f"{path_from_here(path)}: this is not YAML: {_reason(error)}."]
        ) from None


def _odd_blanks(path: Path, line: int) -> str:
    """Return the blanks up to a line that are letters to YAML: its parser stops after them."""
    lines = text_of(path).splitlines()
    for number, text in reversed([*enumerate(lines[: line + 1], 1)]):
        for name, column in odd_blanks(text).items():
            return f"; line {number} has a {name} in column {column}, which is no blank to YAML"
    return ""


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


class Loader(yaml.CSafeLoader):
    """A YAML loader that agrees with Pulumi's.

    It refuses duplicate keys, of which plain YAML keeps the last, and reads `yes`, `1:30` and `=`
    as text, which are true, 90 and a type of its own in YAML 1.1. It also refuses a file whose
    nested aliases expand to more values than fit into memory.
    """

    _level = 0

    def descend_resolver(self, parent: yaml.Node | None, index: object) -> None:
        """Count the levels of nesting, for the parser in C does not."""
        self._level += 1
        if self._level > MOST_LEVELS:
            raise yaml.YAMLError("it is nested too deeply")
        super().descend_resolver(parent, index)

    def ascend_resolver(self) -> None:
        """Leave a level of nesting."""
        self._level -= 1
        super().ascend_resolver()

    def resolve(self, kind: type[yaml.Node], value: str | None, implicit: tuple[bool, bool]) -> str:
        tag: str = super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]  # has no types
        if kind is not yaml.ScalarNode or value is None or not implicit[0]:
            return tag
        type_ = tag.rpartition(":")[2]
        is_word = type_ == "bool" and value.lower() not in ("true", "false")
        is_clock = type_ in ("int", "float") and ":" in value
        is_text = is_word or is_clock or type_ == "value"
        return str(self.DEFAULT_SCALAR_TAG) if is_text else tag

    def get_single_node(self) -> yaml.Node | None:
        node: yaml.Node | None = super().get_single_node()
        counted: dict[int, int] = {}
        if node is not None and _values(node, counted) > MOST_VALUES:
            own = len(counted)
            if own > MOST_VALUES:
                raise yaml.YAMLError(f"it has {own} keys and values; allowed: {MOST_VALUES}")
            raise yaml.YAMLError(f"its aliases make more than {MOST_VALUES} keys and values of it")
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


def _timestamp(loader: Loader, node: yaml.ScalarNode) -> object:
    """Return a date; one that is not in the calendar, such as 2027-02-30, stays text."""
    try:
        return loader.construct_yaml_timestamp(node)
    except ValueError:
        return node.value


Loader.add_constructor("tag:yaml.org,2002:timestamp", _timestamp)
