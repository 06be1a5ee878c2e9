"""Renders a chart as `helm install` would, by Helm's own Go module."""

import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from policies.language.manifest import at
from rehearsal.charts.forms import faults
from rehearsal.charts.served import Served
from rehearsal.charts.wanted import Found
from rehearsal.errors import RehearsalError

LIMIT_S = 60.0  # the largest chart takes 2 s; one that reads its schema from the network may hang
LONGEST = 500
"""Characters of what Helm says: a template that includes itself makes it say 96,000."""


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


One = TypeVar("One", bound=Rendered)


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
    malformed: tuple[str, ...] = ()
    """A sentence for each object that was left out, as no API server can be sent it."""

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
    are taken apart. Values go by standard input, never by arguments. What has not the form of an
    object is left out, and said.
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
    rendering = _well_formed(_ask(helm, found, question))
    kinds = served.with_definitions(rendering.all_crds)
    return replace(
        rendering,
        objects=_placed(rendering.objects, release.namespace, kinds),
        hooks=_placed(rendering.hooks, release.namespace, kinds),
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
        told = " ".join(answer.stderr.split()) or f"Helm ended with {answer.returncode}"
        raise RenderError(told if len(told) <= LONGEST else f"{told[:LONGEST]} …")
    try:
        return TypeAdapter(Rendering).validate_json(answer.stdout)
    except ValidationError as error:
        raise RenderError(f"{title} renders to something that is no object: {error}") from None


def _well_formed(rendering: Rendering) -> Rendering:
    """The rendering with its lists taken apart, without what has not the form of an object."""
    told: list[str] = []
    return replace(
        rendering,
        crds=tuple(_kept(rendering.crds, told)),
        objects=tuple(_kept(_apart(rendering.objects), told)),
        hooks=tuple(_kept(rendering.hooks, told)),
        malformed=tuple(told),
    )


def _kept(objects: Iterable[One], told: list[str]) -> Iterator[One]:
    for each in objects:
        if wrong := [*faults(each.object)]:
            told += [f"{each.source}: {fault}" for fault in wrong]
        else:
            yield each


def _apart(objects: Iterable[Rendered]) -> Iterator[Rendered]:
    for each in objects:
        kind, parts = at(each.object, "kind"), at(each.object, "items")
        if str(kind).endswith("List") and isinstance(parts, list):
            yield from _apart(Rendered(source=each.source, object=part) for part in parts)
        else:
            yield each


def _placed(objects: Iterable[One], namespace: str, kinds: Served) -> tuple[One, ...]:
    return tuple(
        replace(each, object=_in_namespace(each.object, namespace, kinds)) for each in objects
    )


def _in_namespace(object_: dict[str, Any], namespace: str, kinds: Served) -> dict[str, Any]:
    metadata = object_.get("metadata") or {}
    known = kinds.namespaced(str(object_.get("apiVersion")), str(object_.get("kind")))
    if metadata.get("namespace") or not known:
        return object_
    return {**object_, "metadata": {**metadata, "namespace": namespace}}
