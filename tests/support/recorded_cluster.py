"""What an API server answered to lists, served again page by page."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from httpx2 import Client, MockTransport, Request, Response

from kube.listing import Lister

Object = dict[str, Any]


@dataclass(kw_only=True)
class RecordedCluster:
    """Objects by the kind that they are listed as: `("apps/v1", "deployments")`."""

    lists: dict[tuple[str, str], list[Object]] = field(default_factory=dict)
    kinds: dict[tuple[str, str], str] = field(default_factory=dict)
    forbidden: set[str] = field(default_factory=set)
    """Plural names of kinds that may not be listed."""
    expired: list[str] = field(default_factory=list)
    """Plural names of kinds of which the next further page is too old, once each."""
    page: int = 2
    requests: list[str] = field(default_factory=list)

    def serve(self, version: str, plural: str, kind: str, *objects: Object) -> Sequence[Object]:
        """Serve a kind with these objects, each with a uid; lists leave out what they all are."""
        self.kinds[version, plural] = kind
        served = self.lists.setdefault((version, plural), [])
        for each in objects:
            uid = f"{plural}-{len(served)}"
            metadata = {"uid": uid, "managedFields": [{"manager": "x"}], **each["metadata"]}
            served.append({"metadata": metadata, **_without_what_lists_say(each)})
        return [{**each, "apiVersion": version, "kind": kind} for each in served]

    @property
    def lister(self) -> Lister:
        return Lister(http=Client(transport=MockTransport(self._answer), base_url="http://it"))

    def _answer(self, request: Request) -> Response:
        path = request.url.path
        self.requests.append(path)
        if path == "/apis":
            return Response(200, json={"groups": self._groups()})
        prefix, _, plural = path.rpartition("/")
        version = prefix.removeprefix("/apis/").removeprefix("/api/")
        if (version, plural) in self.lists:
            return self._page(version, plural, request.url.params)
        version = path.removeprefix("/apis/").removeprefix("/api/")
        return Response(200, json={"resources": self._resources(version)})

    def _groups(self) -> list[Object]:
        found: dict[str, list[Object]] = {}
        for version, _ in self.kinds:
            group, _, short = version.rpartition("/")
            if group and {"version": short} not in found.setdefault(group, []):
                found[group].append({"version": short})
        return [
            {"name": name, "versions": versions, "preferredVersion": versions[0]}
            for name, versions in found.items()
        ]

    def _resources(self, version: str) -> list[Object]:
        found = [
            {"name": plural, "kind": kind, "verbs": ["get", "list"]}
            for (of, plural), kind in self.kinds.items()
            if of == version
        ]
        return [*found, *({**each, "name": f"{each['name']}/status"} for each in found)]

    def _page(self, version: str, plural: str, query: Any) -> Response:
        if plural in self.forbidden:
            message = f'{plural} is forbidden: User "me" cannot list resource "{plural}"'
            return Response(403, json={"kind": "Status", "message": message})
        first = int(query.get("continue", 0))
        if first and plural in self.expired:
            self.expired.remove(plural)
            return Response(410, json={"kind": "Status", "reason": "Expired"})
        items = self.lists[version, plural]
        last = first + self.page
        more = {"continue": str(last)} if last < len(items) else {}
        return Response(200, json={"metadata": more, "items": items[first:last]})


def _without_what_lists_say(found: Object) -> Object:
    return {k: v for k, v in found.items() if k not in ("apiVersion", "kind", "metadata")}
