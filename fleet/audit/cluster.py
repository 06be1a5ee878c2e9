"""Reads from a cluster what the rules speak of: all objects of those kinds, and of their owners.

Secrets are never read. What the access does not allow to list is told by name.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fleet.check.reading import ReadObject, ReadResult
from fleet.check.shapes import misshapen
from kube.listing import ForbiddenError, Lister, Served
from policies.configuration import ConfiguredRule
from policies.language.facts import NONE, declared_kinds
from policies.language.manifest import at, items
from policies.language.pod_kinds import SHIPPED
from policies.language.pod_search import may_make_pods
from policies.language.rule import Kind, Manifest
from policies.verdicts import Resource

NEVER: Kind = ("", "secrets")
_BESIDES: tuple[Kind, ...] = (
    ("", "namespaces"),
    ("", "nodes"),
    ("", "persistentvolumes"),
    ("", "persistentvolumeclaims"),
    ("metal3.io", "baremetalhosts"),
)
"""Kinds that rules across a cluster read, or prices."""
Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """The objects of a cluster; what could not be read of it is in `read.unreadable`."""

    read: ReadResult
    kinds: int
    forbidden: Mapping[str, str]
    """Kinds that the access does not allow to list, each with a sentence."""


def read_cluster(lister: Lister, rules: Sequence[ConfiguredRule], tell: Tell) -> Cluster:
    """Read the cluster; KubeError where its API server does not answer."""
    reader = _Reader(lister, tell)
    reader.take_of(_wanted(rules))
    while owners := reader.owners():
        reader.take_owners(owners)
    return Cluster(read=reader.result, kinds=len(reader.known), forbidden=reader.forbidden)


def _wanted(rules: Sequence[ConfiguredRule]) -> set[Kind]:
    spoken_of = {
        kind for each in rules if each.rule.admission for kind in each.rule.admission.kinds
    }
    declared = declared_kinds(rules[0].facts if rules else NONE)
    own = {(each.group, each.resource) for each in (*SHIPPED, *declared)}
    return {*spoken_of, *own, *_BESIDES}


class _Reader:
    """Lists kind by kind, each once."""

    def __init__(self, lister: Lister, tell: Tell) -> None:
        self.result = ReadResult()
        self.forbidden: dict[str, str] = {}
        self.known: set[tuple[str, str]] = set()
        """Group and kind of what was listed, or tried."""
        self._lister, self._tell = lister, tell
        self._groups = lister.groups()
        self._served: dict[str, list[Served]] = {}

    def take_of(self, wanted: Iterable[Kind]) -> None:
        """List these kinds, as far as they are served."""
        for group in sorted({group for group, _ in wanted}):
            for kind in self._of(group):
                if (group, kind.resource) in wanted:
                    self._take(kind)

    def take_owners(self, wanted: Iterable[tuple[str, str]]) -> None:
        """List kinds that own what was listed, by group and kind."""
        for group, name in sorted(wanted):
            self.known.add((group, name))
            for kind in self._of(group):
                if kind.kind == name:
                    self._take(kind)

    def owners(self) -> set[tuple[str, str]]:
        """Return group and kind of owners that make pods and have not been listed."""
        found = set()
        for each in self.result.objects:
            for owner in items(at(each.manifest, "metadata", "ownerReferences")):
                version, kind = str(at(owner, "apiVersion")), str(at(owner, "kind"))
                if may_make_pods({"apiVersion": version}):
                    found.add((version.rpartition("/")[0], kind))
        return found - self.known

    def _of(self, group: str) -> list[Served]:
        if group not in self._served:
            versions = self._groups.get(group)
            found = self._lister.served(group, versions) if versions else ()
            self._served[group] = list(found)
        return self._served[group]

    def _take(self, kind: Served) -> None:
        if (kind.group, kind.resource) == NEVER:
            return
        self.known.add((kind.group, kind.kind))
        try:
            found = self._lister.objects(
                kind, lambda count: self._tell(f"{count} {kind.title}") if count else None
            )
        except ForbiddenError as error:
            self.forbidden[kind.title] = str(error)
            self.result.unreadable.append(str(error))
            return
        for each in found:
            self._keep(kind, each)

    def _keep(self, kind: Served, found: dict[str, Any]) -> None:
        if found.get("kind") == "Pod" and at(found, "status", "phase") in ("Succeeded", "Failed"):
            return
        metadata = {k: v for k, v in found.get("metadata", {}).items() if k != "managedFields"}
        manifest: Manifest = {**found, "metadata": metadata}
        place = "/".join(filter(None, (metadata.get("namespace"), kind.title, metadata["name"])))
        resource = Resource(kind=kind.kind, name=metadata["name"], file=place)
        if faults := list(_faults(manifest, place)):
            self.result.unreadable += faults
        else:
            self.result.objects.append(ReadObject(manifest=manifest, resource=resource))


def _faults(manifest: Manifest, place: str) -> Iterator[str]:
    for fault in misshapen(manifest):
        yield f"{place} is not judged: {fault}"
