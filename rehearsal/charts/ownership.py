"""Marks what is made of a chart as Helm does, and finds what somebody else has made.

`helm install` ends at the first object that is there and lacks the marks of its release, with
"exists and cannot be imported into the current release: invalid ownership metadata"
(existingResourceConflict and checkOwnership in pkg/action/validate.go of Helm v4.3.1; 3.x does the
same). It looks at the objects of templates, and at neither hooks nor the folder `crds/`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rehearsal.api import Api
from rehearsal.charts.render import Rendered
from rehearsal.providers.kubernetes.readiness import Discovery

OF_THE_TWIN = ("CustomResourceDefinition",)
"""What is in the twin before any release is."""

Object = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Owner:
    """The release that objects are of."""

    release: str
    namespace: str

    @property
    def marks(self) -> dict[str, dict[str, str]]:
        """The labels and annotations of its objects."""
        name = {"meta.helm.sh/release-name": self.release}
        return {
            "labels": {"app.kubernetes.io/managed-by": "Helm"},
            "annotations": {**name, "meta.helm.sh/release-namespace": self.namespace},
        }

    def marked(self, thing: Object) -> dict[str, Any]:
        """Return an object with the marks, whatever it had in their place."""
        metadata = thing["metadata"]
        own = {part: {**(metadata.get(part) or {}), **said} for part, said in self.marks.items()}
        return {**thing, "metadata": {**metadata, **own}}

    def owns(self, there: Object) -> bool:
        """Return whether an object of the cluster has the marks."""
        return all(
            (there["metadata"].get(part) or {}).get(key) == value
            for part, said in self.marks.items()
            for key, value in said.items()
        )


def made_by_others(api: Api, objects: Iterable[Object], owner: Owner) -> Iterator[str]:
    """Yield a sentence for each object that the cluster has, and not from this release."""
    kinds = Discovery(api)
    for each in objects:
        kind = kinds.find(str(each.get("apiVersion")), str(each.get("kind")))
        name = (each.get("metadata") or {}).get("name")
        if kind is None or not name or kind.kind in OF_THE_TWIN:
            continue
        there = api.get(kind.path(each["metadata"].get("namespace"), name))
        if there is not None and not owner.owns(there):
            yield (
                f"{title(each)} is in the cluster already, and not of the release {owner.release}: "
                "Helm does not take it over."
            )


def in_several(releases: Mapping[str, Iterable[Object]]) -> dict[str, list[str]]:
    """Return a sentence for each object that an earlier release has, by the name of the later."""
    first: dict[tuple[str, str], str] = {}
    found: dict[str, list[str]] = {}
    for release, objects in releases.items():
        for each in objects:
            key = (str(each.get("apiVersion")).rpartition("/")[0], title(each))
            owner = first.setdefault(key, release)
            if owner != release:
                told = f"{title(each)} is also of the release {owner}, and Helm gives it to one."
                found.setdefault(release, []).append(told)
    return found


def twice(rendered: Iterable[Rendered]) -> Iterator[str]:
    """Yield a sentence for each object that a chart has more than once.

    Helm 3 creates each object, and is refused the second of a name (createResource in
    pkg/kube/client.go of v3.19.4). Helm 4 applies them, so that the last is what is left
    (ServerSideApply of NewInstall in pkg/action/install.go of v4.3.1).
    """
    sources: dict[tuple[str, str], list[str]] = {}
    for each in rendered:
        group = str(each.object.get("apiVersion")).rpartition("/")[0]
        sources.setdefault((group, title(each.object)), []).append(each.source)
    for (_, name), found in sources.items():
        if len(found) > 1:
            yield (
                f"{name} is in the chart {len(found)} times "
                f"({', '.join(dict.fromkeys(found))}): Helm 3 is refused the second, Helm 4 writes "
                "it over the first."
            )


def title(thing: Object) -> str:
    """Return kind, namespace and name of an object."""
    metadata = thing.get("metadata") or {}
    place = "/".join(str(metadata[key]) for key in ("namespace", "name") if metadata.get(key))
    return f"{thing.get('kind')} {place or metadata.get('generateName', 'without a name')}"
