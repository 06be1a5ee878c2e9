"""The lines of a stack file, by the YAML paths with which sentences about mistakes begin."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import yaml

from settings.names import PROJECT
from settings.problems import Mistake, dotted

_MERGE = "tag:yaml.org,2002:merge"


@dataclass(frozen=True, kw_only=True)
class Positions:
    """A stack file as a terminal can open it, and the line of each of its keys and entries."""

    file: str
    lines: Mapping[str, int]

    def located(self, mistakes: Iterable[str]) -> Iterator[str]:
        """Yield the sentences, with file and line before those about a place of the stack file."""
        for mistake in mistakes:
            place = mistake.place if isinstance(mistake, Mistake) else ""
            if place.partition(":")[0] not in self._namespaces:
                yield mistake  # of an inventory file, or of no place
                continue
            line = self.line(place)
            where = self.file if line is None else f"{self.file}:{line}"
            yield Mistake(f"{where}: {mistake}", "", place=place)

    def line(self, place: str) -> int | None:
        """Return the line of a place, or of the nearest one around it; None where none is there."""
        while place and place not in self.lines:
            place = place[: max(place.rfind("."), place.rfind("["), 0)]
        return self.lines.get(place)

    @property
    def _namespaces(self) -> set[str]:
        return {PROJECT, *(place.partition(":")[0] for place in self.lines)}


def positions(file: str, root: yaml.Node | None) -> Positions:
    """Return the positions of the keys below `config`, and of those beside it."""
    lines: dict[str, int] = {}
    for key, value in _pairs(root):
        lines[str(key.value)] = key.start_mark.line + 1
        if key.value == "config":
            for name, below in _pairs(value):
                lines[str(name.value)] = name.start_mark.line + 1
                _add(lines, str(name.value), below)
    return Positions(file=file, lines=lines)


def _add(lines: dict[str, int], path: str, node: yaml.Node) -> None:
    if isinstance(node, yaml.SequenceNode):
        for index, entry in enumerate(node.value):
            place = dotted(path, [index])
            lines.setdefault(place, entry.start_mark.line + 1)
            _add(lines, place, entry)
    for key, value in _pairs(node):
        if key.tag == _MERGE:  # the mapping's own keys come first, wherever they stand
            continue
        place = dotted(path, [str(key.value)])
        lines.setdefault(place, key.start_mark.line + 1)
        _add(lines, place, value)
    for key, value in _pairs(node):
        if key.tag == _MERGE:
            for merged in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                _add(lines, path, merged)


def _pairs(node: yaml.Node | None) -> list[tuple[yaml.Node, yaml.Node]]:
    return list(node.value) if isinstance(node, yaml.MappingNode) else []
