"""Fills in `${VAR}` in manifests, as envsubst and Flux's substitution do.

`${VAR:-default}` and `${VAR:=default}` have a default; `$${VAR}` stands for the text `${VAR}`. What
has no value stays as it is and is told once.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_VARIABLE = re.compile(rf"(\$?)\$\{{({_NAME})(?::?[-=]([^}}\n]*))?\}}")
_LINE = re.compile(rf"(?:export\s+)?({_NAME})=(.*)")
_QUOTES = ("'", '"')


class VariablesError(ValueError):
    """Values cannot be read; the text is a sentence."""


@dataclass(kw_only=True)
class Variables:
    """Values by name; `missing` fills as texts are read."""

    values: Mapping[str, str]
    missing: dict[str, list[str]] = field(default_factory=dict)
    """The places of each variable without a value."""

    def filled_in(self, text: str, file: str) -> str:
        """Return the text of a file with the values."""

        def value(found: re.Match[str]) -> str:
            escaped, name, default = found.groups()
            if escaped:
                return found[0][1:]
            if name in self.values:
                return self.values[name]
            if default is not None:
                return default
            line = text.count("\n", 0, found.start()) + 1
            self.missing.setdefault(name, []).append(f"{file}:{line}")
            return found[0]

        return _VARIABLE.sub(value, text)

    def sentences(self) -> Iterator[str]:
        """Yield what each variable without a value lacks."""
        for name, places in self.missing.items():
            more = f" and {len(places) - 1} more" if len(places) > 1 else ""
            yield f"{places[0]}{more}: {name} has no value; set it: --set {name}=…"


def variables(file: Path | None, settings: Iterable[str]) -> Variables | None:
    """Return the values of a file and of `VAR=value` words, which go first; None without any."""
    words = list(settings)
    if file is None and not words:
        return None
    values = {} if file is None else _of_file(file)
    for word in words:
        found = _LINE.fullmatch(word)
        if found is None:
            raise VariablesError(f"--set {word.partition('=')[0]}: allowed: VAR=value.")
        values[found[1]] = found[2]
    return Variables(values=values)


def _of_file(file: Path) -> dict[str, str]:
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise VariablesError(
            f"{file} is no text in UTF-8 (byte {error.start + 1}); allowed: YAML, or VAR=value."
        ) from None
    return (
        _of_yaml(file, text) if file.suffix in (".yaml", ".yml", ".json") else _of_lines(file, text)
    )


def _of_yaml(file: Path, text: str) -> dict[str, str]:
    try:
        said = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506  # texts alone, nothing else
    except yaml.YAMLError:
        said = None
    if not isinstance(said, dict) or not all(isinstance(each, str) for each in said.values()):
        raise VariablesError(f"{file} has no values: allowed: a mapping from names to texts.")
    return {str(name): value for name, value in said.items()}


def _of_lines(file: Path, text: str) -> dict[str, str]:
    values = {}
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if not line or line.startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        if found is None:  # the line may be a secret
            raise VariablesError(f"{file}:{number}: it is no VAR=value.")
        value = found[2]
        is_quoted = len(value) > 1 and value[0] in _QUOTES and value[0] == value[-1]
        values[found[1]] = value[1:-1] if is_quoted else value
    return values
