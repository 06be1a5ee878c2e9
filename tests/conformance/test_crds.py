"""What every environment renders is what the upstream projects accept: kinds, charts, inputs."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.upstream import faults, kinds
from tests.recorder import Registered, Secret
from tests.unit.stacks.programs import ENVIRONMENTS, resources

CRD_FOLDERS = ("karpenter", "volcano", "metal3", "prometheus-operator")

everywhere = pytest.mark.parametrize("environment", ENVIRONMENTS)


def custom_objects(environment: str) -> list[dict[str, Any]]:
    """Every object of a kind that a CRD brings, as the API server would get it."""
    return [opened(each.inputs) for each in resources(environment) if _by_crd(each)]


def _by_crd(resource: Registered) -> bool:
    """Groups of Kubernetes itself have no dot, or end so."""
    group, _, version = str(resource.inputs.get("apiVersion", "")).partition("/")
    return bool(version) and "." in group and not group.endswith(".k8s.io")


def opened(value: Any) -> Any:
    """A value with its secrets in the open and whole numbers as integers, as providers send it."""
    if isinstance(value, Secret):
        return opened(value.value)
    if isinstance(value, Mapping):
        return {key: opened(part) for key, part in value.items()}
    if isinstance(value, list):
        return [opened(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def schema_of(thing: Mapping[str, Any], shared: Path) -> dict[str, Any]:
    """The schema of the kind of an object."""
    folders = [shared / "schemas" / "crds" / folder for folder in CRD_FOLDERS]
    key = (thing["apiVersion"], thing["kind"])
    return next(kinds(folder)[key] for folder in folders if key in kinds(folder))


@everywhere
def test_every_custom_resource_is_one_that_its_crd_accepts(environment: str, shared: Path) -> None:
    objects = custom_objects(environment)
    assert {each["kind"] for each in objects} == {
        *("BareMetalHost", "NodePool", "EC2NodeClass", "Queue", "HyperNode"),
        *("PrometheusRule", "ServiceMonitor"),
    }
    for each in objects:
        assert faults(schema_of(each, shared), each) == [], (
            f"{each['kind']} {each['metadata']['name']}"
        )


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("NodePool", "disruption.consolidationPolicy", "WhenUnderutilized"),
        ("NodePool", "disruption.expireAfter", "720h"),
        ("EC2NodeClass", "amiFamily", "Flatcar"),
        ("EC2NodeClass", "subnets", []),
        ("Queue", "guarantee", {"cpu": "4"}),
        ("Queue", "weight", 0),
        ("BareMetalHost", "bootMode", "bios"),
        ("BareMetalHost", "image", {"checksum": "abc"}),
    ],
)
def test_the_schemas_refuse_what_is_known_to_be_wrong(
    kind: str, path: str, value: object, shared: Path
) -> None:
    broken = next(each for each in custom_objects("dev") if each["kind"] == kind)
    *steps, last = path.split(".")
    parent = broken["spec"]
    for step in steps:
        parent = parent[step]
    parent[last] = value
    assert faults(schema_of(broken, shared), broken)


@everywhere
def test_hetzner_takes_every_input(environment: str, shared: Path) -> None:
    package = json.loads((shared / "schemas" / "pulumi" / "hcloud.json").read_text())
    checked = 0
    for each in resources(environment):
        if each.type.startswith("hcloud:"):
            form = package["resources"][each.type]
            schema = hcloud_schema(
                {
                    name: hcloud_type(part, package)
                    for name, part in form["inputProperties"].items()
                },
                form.get("requiredInputs", []),
            )
            assert faults(schema, opened(each.inputs)) == [], each.name
            checked += 1
    assert checked > 3


def hcloud_schema(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    """The inputs of a resource, or a nested type, of Pulumi's package schema as JSON Schema."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": required,
        "properties": properties,
    }


def hcloud_type(part: dict[str, Any], package: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in part:
        nested = package["types"][part["$ref"].removeprefix("#/types/")]
        return hcloud_schema(
            {name: hcloud_type(each, package) for name, each in nested["properties"].items()},
            nested.get("required", []),
        )
    if part["type"] == "array":
        return {"type": "array", "items": hcloud_type(part["items"], package)}
    return {"type": part["type"]}
