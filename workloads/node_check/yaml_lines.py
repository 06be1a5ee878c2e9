"""Reads the YAML that kubeadm writes: block mappings and sequences, scalars of one line.

Not YAML: what the encoder of sigs.k8s.io/yaml never writes for a KubeletConfiguration (anchors,
block texts, flow collections other than [] and {}) is refused.
"""

import json
from dataclasses import dataclass
from typing import Any


class YamlLinesError(ValueError):
    """A line that this reader does not know; the message has its number."""


@dataclass(frozen=True, kw_only=True)
class _Line:
    number: int
    indent: int
    text: str


def parse(text: str) -> dict[str, Any]:
    """Parses a mapping; every scalar stays a text, {} and [] are empty collections."""
    lines = [
        _Line(number=number, indent=len(raw) - len(raw.lstrip(" ")), text=raw.strip())
        for number, raw in enumerate(text.splitlines(), 1)
        if raw.strip() and not raw.lstrip().startswith("#") and raw.strip() != "---"
    ]
    if not lines:
        return {}
    found, rest = _block(lines, lines[0].indent)
    if rest:
        raise YamlLinesError(f"line {rest[0].number} is indented unlike those before it")
    if not isinstance(found, dict):
        raise YamlLinesError("a sequence instead of a mapping")
    return found


def _block(lines: list[_Line], indent: int) -> tuple[Any, list[_Line]]:
    if lines[0].text.startswith("- ") or lines[0].text == "-":
        return _sequence(lines, indent)
    return _mapping(lines, indent)


def _mapping(lines: list[_Line], indent: int) -> tuple[dict[str, Any], list[_Line]]:
    found: dict[str, Any] = {}
    while lines and lines[0].indent == indent and not lines[0].text.startswith("- "):
        line, *lines = lines
        key, colon, value = line.text.partition(":")
        if not colon or (value and not value.startswith(" ")):
            raise YamlLinesError(f'line {line.number} is no "key: value"')
        if value.strip():
            found[_scalar(key, line)] = _value(value.strip(), line)
            continue
        # a sequence may stand at the indent of its key
        deeper = lines and (
            lines[0].indent > indent
            or (lines[0].indent == indent and lines[0].text.startswith("- "))
        )
        inner: Any = None
        if deeper:
            inner, lines = _block(lines, lines[0].indent)
        found[_scalar(key, line)] = inner
    return found, lines


def _sequence(lines: list[_Line], indent: int) -> tuple[list[Any], list[_Line]]:
    found: list[Any] = []
    while lines and lines[0].indent == indent and lines[0].text.startswith("-"):
        line, *lines = lines
        rest = line.text[1:].lstrip()
        if _opens_mapping(rest):
            inner = _Line(number=line.number, indent=indent + len(line.text) - len(rest), text=rest)
            item, lines = _mapping([inner, *lines], inner.indent)
            found.append(item)
        else:
            found.append(_value(rest, line))
    return found, lines


def _opens_mapping(text: str) -> bool:
    return not text.startswith(('"', "'")) and (": " in text or text.endswith(":"))


def _value(text: str, line: _Line) -> Any:
    if text in ("{}", "[]"):
        return {} if text == "{}" else []
    return _scalar(text, line)


def _scalar(text: str, line: _Line) -> str:
    if text.startswith('"'):
        try:
            return str(json.loads(text))
        except json.JSONDecodeError as error:
            raise YamlLinesError(f"line {line.number}: {error}") from error
    if text.startswith("'") and text.endswith("'") and len(text) > 1:
        return text[1:-1].replace("''", "'")
    if text[:1] in "{[&*|>!%@`":
        raise YamlLinesError(f"line {line.number} has {text[:1]!r}, which kubeadm does not write")
    return text
