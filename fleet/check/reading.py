"""Reads Kubernetes objects with their line numbers from files, folders and standard input.

A file holds any number of YAML documents, or JSON. The reader skips empty documents and those that
are no Kubernetes objects (such as Chart.yaml and a chart's values), and it expands a List. The
output of `helm template` names each object's template in a comment, and often has no namespace.
"""

import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from fleet.check.documents import Document, documents
from fleet.check.shapes import misshapen
from fleet.check.variables import Variables
from policies.language.manifest import at
from policies.language.rule import Manifest
from policies.verdicts import Resource

STDIN = "-"
SUFFIXES = (".yaml", ".yml", ".json")
_SOURCE = re.compile(r"# Source: (\S.*)")
_RENDER = "; is it a template of a chart? Then check what `helm template` makes of it"
_OF_NO_NAMESPACE = "ClusterWorkflowTemplate"  # of the kinds with pods this one alone
_MARKS = ("apiVersion", "kind", "metadata")  # an object has them all, and nothing else has two


@dataclass(frozen=True, kw_only=True)
class ReadObject:
    """An object and its place; `file` is the path as the user gave it."""

    manifest: Manifest
    resource: Resource


@dataclass(kw_only=True)
class ReadResult:
    """The result of reading. `unreadable` are sentences that begin with file and line.

    Objects without a namespace are in `namespace`.
    """

    namespace: str = ""
    objects: list[ReadObject] = field(default_factory=list)
    others: int = 0  # documents that are no Kubernetes objects
    unreadable: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """What was not looked into, in sentences."""
    rendered: list[Resource] = field(default_factory=list)
    """HelmReleases and Applications of which the objects are there."""
    variables: Variables | None = None
    """Values of `${VAR}` in texts; without them such a text stays as it is."""


def read(
    names: Iterable[str], namespace: str = "", variables: Variables | None = None
) -> ReadResult:
    """Reads files, folders (with all below them) and `-`, in their order, each once."""
    result = ReadResult(namespace=namespace, variables=variables)
    for name in dict.fromkeys(names):
        if name == STDIN:
            take(result, name, sys.stdin.buffer.read())
        else:
            read_into(result, name)
    return result


def read_into(result: ReadResult, name: str) -> None:
    """Adds a file, or a folder with all below it."""
    if os.path.isdir(name):
        _folder(result, Path(name))
    else:
        _file(result, Path(name))


def _folder(result: ReadResult, top: Path) -> None:
    """Yields symbolic links last, so that a file is read under its own path first."""
    left, links, seen, files = [top], list[Path](), set[Path](), list[Path]()
    while left or links:
        folder = left.pop() if left else links.pop(0)
        if (real := folder.resolve()) in seen:
            continue
        seen.add(real)
        try:
            inside = sorted(folder.iterdir())
        except OSError as error:
            result.unreadable.append(f"{folder}:1: it cannot be read: {error.strerror}.")
            continue
        for each in inside:
            if each.is_dir():
                (links if each.is_symlink() else left).append(each)
            elif each.suffix in SUFFIXES and each.is_file():
                files.append(each)
    for file in sorted(files):
        _file(result, file)


def _file(result: ReadResult, path: Path) -> None:
    try:
        data = path.read_bytes()
    except OSError as error:
        result.unreadable.append(f"{path}:1: it cannot be read: {error.strerror}.")
        return
    take(result, str(path), data)


def take(result: ReadResult, name: str, data: bytes, line: int = 0) -> None:
    """Adds the objects of a text; with a `line` all of them are there, as they were rendered."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = line or data.count(b"\n", 0, error.start) + 1
        result.unreadable.append(f"{name}:{line}: it is no UTF-8.")
        return
    if result.variables is not None:
        text = result.variables.filled_in(text, name)
    try:
        lines = text.splitlines()
        for document in documents(text):
            source = _source(lines, document.line)
            place = _Place(document=document, file=name, source=source, line=line)
            _objects(result, place, document.value, line or document.line)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        hint = _RENDER if "{{" in text else ""
        result.unreadable.append(f"{name}:{line}: it is no YAML: {error.problem}{hint}.")
    except yaml.reader.ReaderError as error:
        line = text.encode()[: error.position].count(b"\n") + 1
        result.unreadable.append(f"{name}:{line}: it is no YAML: {error.reason}.")
    except RecursionError:
        result.unreadable.append(f"{name}:1: it is no YAML for kubectl: it is nested too deeply.")


@dataclass(frozen=True, kw_only=True)
class _Place:
    """A document of a file; `source` is the template that Helm names above it.

    With a `line`, that of what it was rendered from, its own count for nothing.
    """

    document: Document
    file: str
    source: str
    line: int


def _objects(result: ReadResult, place: _Place, value: Any, line: int) -> None:
    """Adds the object of a document, or the items of a List."""
    if value is None:
        return
    name = place.file
    if not isinstance(value, dict) or sum(key in value for key in _MARKS) < 2:
        result.others += 1
        return
    for key in ("apiVersion", "kind"):
        if not isinstance(value.get(key), str) or not value[key]:
            result.unreadable.append(f"{name}:{line}: an object here has no {key}.")
            return
    if value["kind"].endswith("List") and "items" in value:
        if not isinstance(value["items"], list):
            kind = value["kind"]
            result.unreadable.append(f"{name}:{line}: the items of a {kind} here are no list.")
            return
        lines = place.document.lines_of(value["items"])
        for item, line_of_item in zip(value["items"], lines, strict=True):
            _objects(result, place, _typed(item, value), place.line or line_of_item)
        return
    manifest = _named(value, result.namespace)
    resource = Resource(
        kind=str(manifest["kind"]),
        name=str(at(manifest, "metadata", "name")),
        file=name,
        line=line,
        template=place.source,
    )
    if faults := list(misshapen(manifest)):
        what = f"{name}:{line}: {resource.kind} '{resource.name}' is not judged:"
        result.unreadable += [f"{what} {fault}" for fault in faults]
        return
    result.objects.append(ReadObject(manifest=manifest, resource=resource))


def _typed(item: Any, listed: dict[str, Any]) -> Any:
    """An item of a DeploymentList may leave out what the list says."""
    kind = listed["kind"].removesuffix("List")
    if not kind or not isinstance(item, dict):
        return item
    return {"apiVersion": listed["apiVersion"], "kind": kind, **item}


def _named(value: dict[str, Any], namespace: str) -> Manifest:
    """Returns the object with a name and a namespace."""
    metadata = value.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name = metadata.get("name") or metadata.get("generateName") or ""
    metadata = {**metadata, "name": str(name)}
    if namespace and not metadata.get("namespace") and value["kind"] != _OF_NO_NAMESPACE:
        metadata["namespace"] = namespace
    return {**value, "metadata": metadata}


def _source(lines: list[str], line: int) -> str:
    """Returns the template named in Helm's comment above an object; empty without one."""
    for number in range(line - 2, -1, -1):
        above = lines[number]
        if above.startswith("---"):
            return ""
        if found := _SOURCE.fullmatch(above.strip()):
            return found[1]
    return ""
