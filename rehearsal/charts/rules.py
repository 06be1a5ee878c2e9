"""Judges what charts become by the rules of the environment, as `fleet check` judges files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from policies.configuration import ConfiguredRule, Namespaces
from policies.gates import judging
from policies.language.manifest import at, mapping
from policies.language.owners import believed, key
from policies.language.pods import remembered
from policies.language.stack import Stack
from policies.verdicts import Finding, Resource


@dataclass(frozen=True, kw_only=True)
class Judged:
    """An object of a chart, and the release that it is part of."""

    release: str
    source: str
    object: dict[str, Any]

    @property
    def resource(self) -> Resource:
        """As findings name it."""
        metadata = self.object.get("metadata") or {}
        return Resource(
            kind=str(self.object.get("kind")),
            name=str(metadata.get("name") or metadata.get("generateName") or ""),
            file=f"chart of {self.release}",
            template=self.source,
        )


def judge(objects: Sequence[Judged], rules: Sequence[ConfiguredRule]) -> dict[str, list[Finding]]:
    """The findings by release. Rules across a stack see the objects of all charts together."""
    found: dict[str, list[Finding]] = {}
    for release, finding in _findings(objects, rules):
        found.setdefault(release, []).append(finding)
    return found


def _findings(
    objects: Sequence[Judged], rules: Sequence[ConfiguredRule]
) -> Iterator[tuple[str, Finding]]:
    today = datetime.now(UTC).date()
    there = {key(each.object) for each in objects}
    every = Stack(believed(each.object, there) for each in objects)
    namespaces: Namespaces = {
        str(at(each, "metadata", "name")): mapping(at(each, "metadata", "labels"))
        for each in every
        if each.get("kind") == "Namespace"
    }
    with remembered():
        for each, manifest in zip(objects, every, strict=True):
            for stack in (None, every):
                for finding in judging.findings(
                    manifest,
                    rules,
                    resource=each.resource,
                    today=today,
                    stack=stack,
                    namespaces=namespaces,
                ):
                    yield each.release, replace(finding, keys=())
