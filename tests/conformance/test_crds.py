"""What every environment renders is what the upstream projects accept: kinds, charts, inputs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rehearsal.providers.sdk_types import (
    Anything,
    ListOf,
    MapOf,
    Object,
    OneOf,
    Shape,
    Simple,
    inputs,
)
from tests.support.crd_schemas import faults, kinds
from tests.support.environments import ENVIRONMENTS, resources, resources_with_efa
from tests.support.recorder import Registered, Secret

CRD_FOLDERS = ("cilium", "karpenter", "volcano", "metal3", "prometheus-operator")

TYPES = {
    "a string": "string",
    "a whole number": "integer",
    "a number": "number",
    "true or false": "boolean",
}

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


def schema_of(thing: Mapping[str, Any], crds: Path) -> dict[str, Any]:
    """The schema of the kind of an object."""
    folders = [crds / folder for folder in CRD_FOLDERS]
    key = (thing["apiVersion"], thing["kind"])
    return next(kinds(folder)[key] for folder in folders if key in kinds(folder))


@everywhere
def test_every_custom_resource_is_one_that_its_crd_accepts(environment: str, crds: Path) -> None:
    objects = custom_objects(environment)
    assert {each["kind"] for each in objects} == {
        *("BareMetalHost", "NodePool", "EC2NodeClass", "Queue", "HyperNode"),
        *("PrometheusRule", "ServiceMonitor", "PodMonitor", "CiliumClusterwideNetworkPolicy"),
    }
    for each in objects:
        assert faults(schema_of(each, crds), each) == [], (
            f"{each['kind']} {each['metadata']['name']}"
        )


def test_a_class_with_efa_is_one_that_karpenter_accepts(crds: Path) -> None:
    made = [opened(each.inputs) for each in resources_with_efa() if _by_crd(each)]
    (found,) = (each for each in made if each["kind"] == "EC2NodeClass")
    assert len(found["spec"]["networkInterfaces"]) == 33
    assert faults(schema_of(found, crds), found) == []
    found["spec"]["networkInterfaces"][0]["interfaceType"] = "efa"
    assert faults(schema_of(found, crds), found)


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
    kind: str, path: str, value: object, crds: Path
) -> None:
    broken = next(each for each in custom_objects("dev") if each["kind"] == kind)
    *steps, last = path.split(".")
    parent = broken["spec"]
    for step in steps:
        parent = parent[step]
    parent[last] = value
    assert faults(schema_of(broken, crds), broken)


@everywhere
def test_hetzner_takes_every_input(environment: str) -> None:
    checked = 0
    for each in resources(environment):
        if each.type.startswith("hcloud:"):
            schema = json_schema(inputs("pulumi_hcloud", each.type.rpartition(":")[2]))
            assert faults(schema, opened(each.inputs)) == [], each.name
            checked += 1
    assert checked > 3


def test_an_input_that_hetzner_does_not_take_is_seen() -> None:
    server = json_schema(inputs("pulumi_hcloud", "Server"))
    good = {"serverType": "cax41", "networks": [{"networkId": 1}]}
    assert faults(server, good) == []
    for wrong in ({"type": "cax41"}, {"networks": [{"network": 1}]}, {"keepDisk": "no"}):
        assert faults(server, {**good, **wrong})
    assert faults(server, {}), "a server has a type"


def json_schema(shape: Shape) -> dict[str, Any]:
    """The inputs of a resource, as its SDK declares them, as JSON Schema."""
    match shape:
        case Object():
            return {
                "type": "object",
                "additionalProperties": False,
                "required": sorted(shape.required),
                "properties": {name: json_schema(part) for name, part in shape.fields.items()},
            }
        case ListOf():
            return {"type": "array", "items": json_schema(shape.item)}
        case MapOf():
            return {"type": "object", "additionalProperties": json_schema(shape.value)}
        case OneOf():
            return {"enum": list(shape.values)}
        case Simple():
            return {"type": TYPES[shape.word]}
        case Anything():
            return {}
