"""Kubernetes objects from files, folders and standard input, each with the line where it begins.

A file holds any number of YAML documents, or JSON; empty ones are left out, as are documents that
are no Kubernetes objects (values of a chart, say), and a List is its items. What `helm template`
writes names the template of each object in a comment. Scalars mean what they mean to kubectl: no
dates, and no minutes in `8080:80`.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from policies.rules.rule import Manifest

STDIN = "-"
SUFFIXES = (".yaml", ".yml", ".json")
_SOURCE = re.compile(r"# Source: (\S.*)")
_RENDER = "; is it a template of a chart? Then check what `helm template` makes of it"
_OWN = ("timestamp", "int", "float")


@dataclass(frozen=True, kw_only=True)
class Found:
    """An object. `file` is as it was given; `line` counts from 1; `source` is Helm's template."""

    manifest: Manifest
    file: str
    line: int
    source: str | None = None

    @property
    def resource(self) -> str:
        """Its kind and name, as an exemption has them."""
        return f"{self.manifest['kind']}/{self.manifest['metadata']['name']}"  # type: ignore[index]  # made so by `_objects`


@dataclass(kw_only=True)
class Read:
    """What was read. `unreadable` are sentences that begin with file and line."""

    objects: list[Found] = field(default_factory=list)
    others: int = 0  # documents that are no Kubernetes objects
    unreadable: list[str] = field(default_factory=list)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # chosen when it runs
    """YAML as kubectl reads it; a key that is there twice is an error."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """Refuses a second value for a key, of which Kubernetes would see only one."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen and key.value != "<<":
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} is there twice", key.start_mark
                )
            seen.add(str(key.value))
        return dict(super().construct_mapping(node, deep=deep))


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


def read(names: Iterable[str]) -> Read:
    """Reads files, folders (with all below them) and `-`, in their order, each once."""
    result = Read()
    for name in dict.fromkeys(names):
        if name == STDIN:
            _take(result, name, sys.stdin.buffer.read())
            continue
        path = Path(name)
        if path.is_dir():
            inside = (each for each in sorted(path.rglob("*")) if each.suffix in SUFFIXES)
            for file in inside:
                if file.is_file():
                    _file(result, file)
        else:
            _file(result, path)
    return result


def _file(result: Read, path: Path) -> None:
    try:
        data = path.read_bytes()
    except OSError as error:
        result.unreadable.append(f"{path}:1: it cannot be read: {error.strerror}.")
        return
    _take(result, str(path), data)


def _take(result: Read, name: str, data: bytes) -> None:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        result.unreadable.append(f"{name}:{line}: it is no UTF-8.")
        return
    try:
        lines = text.splitlines()
        for value, node in _documents(text):
            _objects(result, name, lines, value, node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        hint = _RENDER if "{{" in text else ""
        result.unreadable.append(f"{name}:{line}: it is no YAML: {error.problem}{hint}.")
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        result.unreadable.append(f"{name}:{line}: it is no YAML: {error.reason}.")
    except ValueError as error:  # an impossible scalar, such as 0o9
        result.unreadable.append(f"{name}:1: it is no YAML: {error}.")


def _documents(text: str) -> Iterator[tuple[Any, yaml.Node]]:
    loader = _Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            yield loader.construct_document(node), node
    finally:
        loader.dispose()


def _objects(result: Read, name: str, lines: list[str], value: Any, node: yaml.Node) -> None:
    """Adds the object, or those of a List, that a document is."""
    if value is None:
        return
    line = node.start_mark.line + 1
    if not isinstance(value, dict) or not {"apiVersion", "kind"} & value.keys():
        result.others += 1
        return
    for key in ("apiVersion", "kind"):
        if not isinstance(value.get(key), str) or not value[key]:
            result.unreadable.append(f"{name}:{line}: an object here has no {key}.")
            return
    if value["kind"].endswith("List") and isinstance(value.get("items"), list):
        for item, at in zip(value["items"], _item_nodes(node), strict=True):
            _objects(result, name, lines, _typed(item, value), at)
        return
    result.objects.append(
        Found(manifest=_named(value), file=name, line=line, source=_source(lines, line))
    )


def _item_nodes(node: Any) -> list[yaml.Node]:
    return next(list(value.value) for key, value in node.value if key.value == "items")


def _typed(item: Any, listed: dict[str, Any]) -> Any:
    """An item of a DeploymentList may leave out what the list says."""
    kind = listed["kind"].removesuffix("List")
    if not kind or not isinstance(item, dict):
        return item
    return {"apiVersion": listed["apiVersion"], "kind": kind, **item}


def _named(value: dict[str, Any]) -> Manifest:
    """In normal form: whole numbers as `int`, and a name, which the cluster completes."""
    manifest: Any = _whole(value)
    metadata = manifest.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name = metadata.get("name") or metadata.get("generateName") or ""
    return {**manifest, "metadata": {**metadata, "name": str(name)}}


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _whole(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_whole(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _source(lines: list[str], line: int) -> str | None:
    """Helm's comment over an object."""
    for above in reversed(lines[: line - 1]):
        if above.startswith("---"):
            return None
        if found := _SOURCE.fullmatch(above.strip()):
            return found[1]
    return None
