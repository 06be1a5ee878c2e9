"""An environment read from its resources: objects, releases, and the registration of nodes."""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_to_bytes

from tests.support.recorder import Registered, Secret

Where = tuple[str, str]
"""A namespace and a name."""


@dataclass(frozen=True)
class Environment:
    """An environment's resources with secrets opened, to be compared and never shown."""

    resources: list[Registered]
    objects: list[dict[str, Any]] = field(init=False)
    releases: dict[str, dict[str, Any]] = field(init=False)

    def __post_init__(self) -> None:
        inputs = [(each, opened(each.inputs)) for each in self.resources]
        releases = {
            str(one["chart"]).rpartition("/")[2]: one for each, one in inputs if "chart" in one
        }
        object.__setattr__(self, "releases", releases)
        object.__setattr__(
            self, "objects", [one for _, one in inputs if "apiVersion" in one and "kind" in one]
        )

    def of(self, kind: str) -> dict[Where, dict[str, Any]]:
        """Return the objects of a kind by namespace and name."""
        found = [each for each in self.objects if each["kind"] == kind]
        return {where(each): each for each in found}

    def aws(self, type_: str) -> list[dict[str, Any]]:
        """Return the inputs of each resource of an AWS type."""
        return [dict(opened(each.inputs)) for each in self.resources if each.type == type_]

    def nodes(self) -> Iterator[tuple[str, dict[str, str], list[dict[str, str]], str]]:
        """Yield each pool's name, its nodes' labels and taints, and the kubelet's arguments."""
        for each in self.resources:
            if each.type.startswith("gpu:pools:") and "ignition" in each.inputs:
                files = json.loads(str(each.inputs["ignition"]))["storage"]["files"]
                texts = {file["path"]: text(file) for file in files}
                arguments = texts["/etc/sysconfig/kubelet"].strip().partition("=")[2]
                (written,) = re.findall(r"--node-labels=(\S+)", arguments)
                labels = dict(pair.split("=", 1) for pair in written.split(","))
                patch = json.loads(texts["/etc/kubernetes/patches/kubeletconfiguration+merge.json"])
                yield (
                    str(each.inputs["pool"]),
                    labels,
                    patch.get("registerWithTaints", []),
                    arguments,
                )


def opened(value: Any) -> Any:
    if isinstance(value, Secret):
        return opened(value.value)
    if isinstance(value, Mapping):
        return {key: opened(part) for key, part in value.items()}
    return [opened(part) for part in value] if isinstance(value, list) else value


def where(thing: Mapping[str, Any]) -> Where:
    metadata = thing["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def text(file: Mapping[str, Any]) -> str:
    source = str(file.get("contents", {}).get("source", ""))
    if not source.startswith("data:"):
        return ""
    head, _, body = source.partition(",")
    if head.endswith(";base64"):
        return base64.b64decode(body).decode()
    return unquote_to_bytes(body).decode()


def walk(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every key of a value with its value, at any depth."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield key, part
            yield from walk(part)
    elif isinstance(value, list):
        for part in value:
            yield from walk(part)
