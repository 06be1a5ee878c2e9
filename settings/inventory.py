"""Reads inventory files: the machines of a bare-metal pool, in a file beside the stack file.

A pool names its file instead of listing machines (`inventory: dgx.csv`). Such a file is CSV with a
header or a YAML list; its columns, or keys, are the fields of `MachineSettings`. The stack file's
configuration then stays short however many machines there are: Pulumi hands it over in one
environment variable, and Linux has room for 128 KiB in one (MAX_ARG_STRLEN in execve(2)).
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import yaml

from settings.names import PROJECT
from settings.pools import MachineSettings
from settings.problems import Mistake, SettingsError, unknown_key, wrong
from settings.yaml_reading import Loader, path_from_here, text_of, yaml_errors

COLUMNS = tuple(field.name for field in fields(MachineSettings))
MOST_BYTES = 120_000
"""Of the configuration without secrets; 128 KiB are for one environment variable, secrets too."""
_SEPARATORS = {"\t": "tabs", ";": "semicolons", "|": "bars"}

Config = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Inventory:
    """The entries of an inventory file, each with its line; their values are not checked yet."""

    name: str
    """The file, from where the command runs."""
    entries: tuple[object, ...]
    lines: tuple[int, ...]

    @property
    def places(self) -> tuple[str, ...]:
        """The place of each entry, with which a sentence about it begins."""
        return tuple(f"{self.name}:{line}:" for line in self.lines)


@dataclass(frozen=True, kw_only=True)
class Inventories:
    """A configuration whose pools have the machines of their inventory files."""

    config: Config
    files: Mapping[str, Inventory]
    """The files that were read, by pool."""
    mistakes: Mapping[str, tuple[str, ...]]
    """What is wrong with the others, by pool."""

    def place(self, pool: str, position: int) -> str:
        """Return the place of a machine, with which a sentence about it begins."""
        if pool in self.files:
            return self.files[pool].places[position]
        return f"{PROJECT}:pools.{pool}.machines[{position}]"

    def places(self, pool: str) -> dict[tuple[str | int, ...], str]:
        """Return the places that are not in the stack file by their path in the pool's settings."""
        if pool not in self.files:
            return {}
        return {("machines", at): place for at, place in enumerate(self.files[pool].places)}


def with_inventories(config: Config, folder: Path) -> Inventories:
    """Return a configuration with its inventory files read; `folder` is that of the stack file."""
    pools = config.get("pools")
    named = pools if isinstance(pools, Mapping) else {}
    files: dict[str, Inventory] = {}
    mistakes: dict[str, tuple[str, ...]] = {}
    for name, pool in named.items():
        if isinstance(pool, Mapping) and "inventory" in pool:
            try:
                files[str(name)] = _of_pool(f"{PROJECT}:pools.{name}", pool, folder)
            except SettingsError as error:
                mistakes[str(name)] = error.mistakes
    if not files:
        return Inventories(config=config, files={}, mistakes=mistakes)
    read = {
        str(name): {**pool, "machines": list(files[str(name)].entries)}
        if str(name) in files
        else pool
        for name, pool in named.items()
    }
    return Inventories(config={**config, "pools": read}, files=files, mistakes=mistakes)


def _of_pool(path: str, pool: Mapping[str, object], folder: Path) -> Inventory:
    """Return the inventory that a pool names."""
    name = pool["inventory"]
    readers = {".csv": _csv, ".yaml": _yaml, ".yml": _yaml}
    if not isinstance(name, str) or "\0" in name or Path(name).suffix not in readers:
        allowed = "the path of a file from the stack file's folder, ending in .csv, .yaml or .yml"
        raise SettingsError([wrong(f"{path}.inventory", name, allowed)])
    if "machines" in pool:
        rest = " has machines and inventory; allowed: one of the two."
        raise SettingsError([Mistake(path, rest, place=f"{path}.inventory")])
    file = folder / name
    shown = path_from_here(file)
    if not file.is_file():
        raise SettingsError([wrong(f"{path}.inventory", name, f"a file; {shown} is none")])
    read = [*readers[file.suffix](file, shown)]
    if not read:
        raise SettingsError([f"{shown}: has no machine; allowed: one machine or more."])
    return Inventory(
        name=shown, entries=tuple(entry for _, entry in read), lines=tuple(line for line, _ in read)
    )


def _yaml(path: Path, name: str) -> Iterator[tuple[int, object]]:
    """Yield the line and the value of each entry of a YAML list."""
    with yaml_errors(path):
        loader = Loader(text_of(path))
        node = loader.get_single_node()
        entries = node.value if isinstance(node, yaml.SequenceNode) else None
        read = [
            (entry.start_mark.line + 1, loader.construct_object(entry, deep=True))
            for entry in entries or ()
        ]
    if entries is None:
        raise SettingsError([f"{name}: is not a list; allowed: a list of machines."])
    yield from read


def _csv(path: Path, name: str) -> Iterator[tuple[int, object]]:
    """Yield the line and the cells of each row that is not empty, by column."""
    try:
        rows = [*_rows(path, name)]
    except OSError as error:
        raise SettingsError([f"{name} cannot be read: {error.strerror}."]) from None
    except UnicodeDecodeError as error:
        reason = f"{name} is not text in UTF-8: byte {error.start + 1}; save it as `CSV UTF-8`."
        raise SettingsError([reason]) from None
    if not rows:
        raise SettingsError([f"{name}: is empty; allowed: a header and a line for each machine."])
    (line, header), *rest = rows
    mistakes = [*_header_mistakes(f"{name}:{line}:", header)]
    mistakes += [
        f"{name}:{at}: has {len(cells)} columns; allowed: {len(header)}, as the header has."
        for at, cells in rest
        if len(cells) != len(header)
    ]
    if mistakes:
        raise SettingsError(mistakes)
    for at, cells in rest:
        yield at, {column: cell for column, cell in zip(header, cells, strict=True) if cell}


def _rows(path: Path, name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows with their first line, without blanks around cells, and no empty ones."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        _check_separator(file, name)
        file.seek(0)
        reader = csv.reader(file, strict=True)
        while True:
            line = reader.line_num + 1
            try:
                cells = [cell.strip() for cell in next(reader)]
            except StopIteration:
                return
            except csv.Error as error:
                reason = f"{name}:{line}: is not CSV ({error}); allowed: cells with commas "
                raise SettingsError(
                    [f"{reason}between them, quotes around a whole cell."]
                ) from None
            if any(cells):
                yield line, cells


def _check_separator(lines: Iterable[str], name: str) -> None:
    """Raise SettingsError where the header has another sign than commas between its columns.

    Of a line with other signs the reader of CSV says nothing that helps.
    """
    header = next((found for found in enumerate(lines, 1) if found[1].strip(", \r\n")), (1, ""))
    cells = [cell.strip() for cell in header[1].split(",")]
    for sign, word in _SEPARATORS.items():
        if any(sign in cell for cell in cells):
            raise SettingsError(
                [f"{name}:{header[0]}: has {word} between its columns; allowed: commas."]
            )


def _header_mistakes(place: str, header: Sequence[str]) -> Iterator[str]:
    """Yield the columns that are unknown, without a name or there twice."""
    known = ", ".join(COLUMNS)
    for position, column in enumerate(header):
        if not column:
            yield f"{place} column {position + 1} has no name; allowed: {known}."
        elif column in header[:position]:
            yield f'{place} has the column "{column}" twice; allowed: once.'
        elif column not in COLUMNS:
            yield unknown_key(f'{place} "{column}"', column, COLUMNS)


def length_mistakes(config: Config) -> Iterator[str]:
    """Yield the pools whose machines make the configuration of the stack file too long.

    Pulumi hands the policy pack and the program one variable, PULUMI_CONFIG: a JSON object whose
    values are JSON in turn.
    """
    length = len(json.dumps({key: json.dumps(value, default=str) for key, value in config.items()}))
    pools = config.get("pools")
    if length <= MOST_BYTES or not isinstance(pools, Mapping):
        return
    for name, pool in pools.items():
        machines = pool.get("machines") if isinstance(pool, Mapping) else None
        if isinstance(machines, list) and len(machines) > 1:
            yield Mistake(
                f"{PROJECT}:pools.{name}.machines",
                f" has {len(machines)} machines, and the "
                f"configuration {length} bytes, of which Pulumi can hand over {MOST_BYTES}; "
                f"allowed: `inventory: {name}.csv` in its place, a file beside the stack file with "
                f"a line for each machine.",
            )
