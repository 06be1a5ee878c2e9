"""What a cluster serves, as charts see it in `.Capabilities`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from policies.language.manifest import at, items, mapping
from rehearsal.api import Api

_DISCOVERY = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}


@dataclass(frozen=True, kw_only=True)
class Served:
    """The version of an API server, and its kinds with whether each has namespaces."""

    version: str
    kinds: Mapping[tuple[str, str], bool] = field(default_factory=dict)
    """(apiVersion, kind), such as ("apps/v1", "Deployment"), to whether it has namespaces."""
    without_namespace: frozenset[tuple[str, str]] = frozenset()
    """(group, plural), such as ("", "nodes"), of the kinds that are in no namespace."""

    @classmethod
    def by(cls, api: Api) -> "Served":
        """What the API server serves now."""
        kinds: dict[tuple[str, str], bool] = {}
        without: set[tuple[str, str]] = set()
        for root in ("/api", "/apis"):
            answer = api.request("GET", root, headers=_DISCOVERY)
            for group in answer["items"]:
                kinds.update(_kinds(group))
                without.update(_without_namespace(group))
        version = str(api.request("GET", "/version")["gitVersion"])
        return cls(version=version, kinds=kinds, without_namespace=frozenset(without))

    @property
    def api_versions(self) -> list[str]:
        """As `.Capabilities.APIVersions` has them: apps/v1, and apps/v1/Deployment."""
        versions = {version for version, _ in self.kinds}
        return sorted(versions | {f"{version}/{kind}" for version, kind in self.kinds})

    def namespaced(self, api_version: str, kind: str) -> bool | None:
        """Whether objects of a kind are in namespaces; None for one that is not served."""
        return self.kinds.get((api_version, kind))

    def with_definitions(self, definitions: Iterable[Mapping[str, Any]]) -> "Served":
        """What is served once these CustomResourceDefinitions are applied, too."""
        kinds, without = dict(self.kinds), set(self.without_namespace)
        for definition in definitions:
            spec = mapping(definition.get("spec"))  # the API server refuses what is none
            if spec.get("scope") == "Cluster":
                without.add((str(spec.get("group")), str(at(spec, "names", "plural"))))
            for version in items(spec.get("versions")):
                if at(version, "served"):
                    api_version = f"{spec.get('group')}/{at(version, 'name')}"
                    kind = str(at(spec, "names", "kind"))
                    kinds[api_version, kind] = spec.get("scope") == "Namespaced"
        return replace(self, kinds=kinds, without_namespace=frozenset(without))


def _without_namespace(group: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for version in group.get("versions", []):
        for resource in version.get("resources", []):
            if resource.get("scope") == "Cluster":
                yield group.get("metadata", {}).get("name", ""), resource["resource"]


def _kinds(group: Mapping[str, Any]) -> Iterable[tuple[tuple[str, str], bool]]:
    name = group.get("metadata", {}).get("name", "")
    for version in group.get("versions", []):
        api_version = "/".join(filter(None, (name, version["version"])))
        for resource in version.get("resources", []):
            kind = resource.get("responseKind", {}).get("kind")
            if kind:
                yield (api_version, kind), resource.get("scope") == "Namespaced"
