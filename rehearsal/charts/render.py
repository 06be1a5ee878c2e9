"""Renders a chart as `helm install` would, by Helm's own Go module."""

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from rehearsal.charts.served import Served
from rehearsal.charts.wanted import Found
from rehearsal.errors import RehearsalError

LIMIT_S = 60.0  # the largest chart takes 2 s; one that reads its schema from the network may hang


class RenderError(RehearsalError):
    """Helm refuses the chart or its values; the text is what it says."""


@dataclass(frozen=True, kw_only=True)
class Rendered:
    """An object of a chart, with the template that it comes from."""

    source: str
    object: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Hook(Rendered):
    """An object that Helm makes at an event of the release, such as pre-install."""

    events: tuple[str, ...]
    weight: int
    delete_policies: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Rendering:
    """What a chart becomes with the values of one release."""

    chart: dict[str, Any]
    """Its Chart.yaml."""
    crds: tuple[Rendered, ...] = ()
    """Of the folders `crds` of the chart and its parts: made first, and never deleted.

    None where the release skips them.
    """
    objects: tuple[Rendered, ...] = ()
    """In the order in which Helm installs them, CRDs among the templates too."""
    hooks: tuple[Hook, ...] = ()
    varying: tuple[str, ...] = ()
    """Templates that every rendering gives another text: they make keys or passwords."""
    lookups: tuple[str, ...] = ()
    """Objects of the cluster for which templates ask; they were told that there are none."""

    def of_kind(self, *kinds: str) -> list[dict[str, Any]]:
        """The objects of these kinds, without hooks and without those of the folders `crds`."""
        return [each.object for each in self.objects if each.object.get("kind") in kinds]

    @property
    def all_crds(self) -> list[dict[str, Any]]:
        """The CRDs of the folders `crds`, and those among the templates."""
        return [each.object for each in self.crds] + self.of_kind("CustomResourceDefinition")


@dataclass(frozen=True, kw_only=True)
class Release:
    """A release of a chart: what Helm is told besides the chart."""

    name: str
    namespace: str
    values: Mapping[str, object]
    skip_crds: bool = False

    @classmethod
    def of(cls, inputs: Mapping[str, Any]) -> "Release":
        """From the inputs of a Release."""
        return cls(
            name=str(inputs["name"]),
            namespace=str(inputs["namespace"]),
            values=inputs.get("values") or {},
            skip_crds=bool(inputs.get("skipCrds")),
        )


def render(helm: Path, found: Found, release: Release, served: Served) -> Rendering:
    """Renders a chart for a cluster that serves `served`; raises RenderError.

    Objects of kinds with namespaces are in that of the release unless they say another, and lists
    are taken apart. Values go by standard input, never by arguments.
    """
    question = {
        "chart": str(found.path.resolve()),
        "name": release.name,
        "namespace": release.namespace,
        "values": release.values,
        "defaults": found.defaults,
        "version": found.version,
        "skip_crds": release.skip_crds,
        "kube_version": served.version,
        "api_versions": served.api_versions,
    }
    rendering = _ask(helm, found, question)
    kinds = served.with_definitions(rendering.all_crds)
    return replace(
        rendering,
        objects=tuple(_placed(rendering.objects, release.namespace, kinds)),
        hooks=tuple(
            replace(hook, object=_in_namespace(hook.object, release.namespace, kinds))
            for hook in rendering.hooks
        ),
    )


def _ask(helm: Path, found: Found, question: Mapping[str, object]) -> Rendering:
    title = found.path.name
    try:
        answer = subprocess.run(
            [helm],
            input=json.dumps(question),
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise RenderError(f"Helm has not rendered {title} within {LIMIT_S:.0f} s.") from None
    if answer.returncode:
        raise RenderError(" ".join(answer.stderr.split()) or f"Helm ended with {answer.returncode}")
    try:
        return TypeAdapter(Rendering).validate_json(answer.stdout)
    except ValidationError as error:
        raise RenderError(f"{title} renders to something that is no object: {error}") from None


def _placed(objects: Sequence[Rendered], namespace: str, kinds: Served) -> Iterable[Rendered]:
    for each in objects:
        parts = each.object.get("items")
        if str(each.object.get("kind", "")).endswith("List") and isinstance(parts, list):
            inner = [Rendered(source=each.source, object=part) for part in parts]
            yield from _placed(inner, namespace, kinds)
        else:
            yield replace(each, object=_in_namespace(each.object, namespace, kinds))


def _in_namespace(object_: dict[str, Any], namespace: str, kinds: Served) -> dict[str, Any]:
    metadata = object_.get("metadata") or {}
    known = kinds.namespaced(str(object_.get("apiVersion")), str(object_.get("kind")))
    if metadata.get("namespace") or not known:
        return object_
    return {**object_, "metadata": {**metadata, "namespace": namespace}}
