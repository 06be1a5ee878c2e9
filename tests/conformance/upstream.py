"""What the upstream projects accept: the values of their charts, the schemas of their kinds."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # as it is built
    """Reads `=`, a choice in Prometheus' kinds, as the text that it is."""


_Loader.add_constructor("tag:yaml.org,2002:value", yaml.SafeLoader.construct_yaml_str)


@cache
def read(path: Path) -> Any:
    """A YAML file of the schemas. It is read once: change nothing in it."""
    return yaml.load(path.read_text(), _Loader)  # noqa: S506  # a SafeLoader


def chart(shared: Path, name: str, file: str = "values.yaml") -> Any:
    """The values that a chart has by default, or another of its files."""
    return read(shared / "schemas" / "charts" / name / file)


def unknown_keys(
    values: Mapping[str, Any], known: Mapping[str, Any], free: set[str], path: str = ""
) -> Iterator[str]:
    """Keys that a chart does not have; below an empty default, and a free key, all are allowed."""
    for key, value in values.items():
        place = f"{path}{key}"
        if place in free:
            continue
        if key not in known:
            yield place
        elif isinstance(value, Mapping) and known[key]:
            below = known[key] if isinstance(known[key], Mapping) else {}
            yield from unknown_keys(value, below, free, f"{place}.")


@cache
def kinds(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """The schema of each kind that a folder of CRDs serves, by apiVersion and kind."""
    found = {}
    documents = (
        document
        for path in folder.glob("*.yaml")
        for document in yaml.load_all(path.read_text(), _Loader)  # a SafeLoader
    )
    for spec in (document["spec"] for document in documents if document):
        for version in spec["versions"]:
            schema = closed(version["schema"]["openAPIV3Schema"])
            schema["properties"]["metadata"] = {"type": "object"}  # the API server's own
            found[f"{spec['group']}/{version['name']}", spec["names"]["kind"]] = schema
    return found


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """A structural schema that refuses what an API server would prune in silence."""
    result = {
        key: closed(part)
        if isinstance(part, dict) and key in ("items", "additionalProperties")
        else part
        for key, part in schema.items()
    }
    if "properties" in schema:
        result["properties"] = {name: closed(part) for name, part in schema["properties"].items()}
        if "additionalProperties" not in schema:
            result["additionalProperties"] = bool(
                schema.get("x-kubernetes-preserve-unknown-fields")
            )
    if schema.get("x-kubernetes-int-or-string"):
        result.pop("type", None)
        result["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    return result


def faults(schema: dict[str, Any], value: object) -> list[str]:
    """Where a value is not what its schema says, and why."""
    errors = Draft202012Validator(schema).iter_errors(value)
    return [f"{error.json_path}: {error.message}" for error in errors]
