"""The schemas of the kinds that CRDs bring."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # as it is built
    """Reads `=`, a choice in Prometheus' kinds, as the text that it is."""


_Loader.add_constructor("tag:yaml.org,2002:value", yaml.SafeLoader.construct_yaml_str)


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
