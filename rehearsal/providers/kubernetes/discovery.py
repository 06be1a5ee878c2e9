"""Which kinds an API server serves, and where."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rehearsal.providers.kubernetes.api import Api
    from rehearsal.providers.values import Value


@dataclass(frozen=True, kw_only=True)
class ServedKind:
    """A kind with its place: `/apis/batch/v1` and `jobs`."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool

    def path(self, namespace: str | None, name: str) -> str:
        """The path of one object; a namespace given for a kind without any is left out."""
        root = "/apis" if "/" in self.api_version else "/api"
        space = f"/namespaces/{namespace}" if self.namespaced else ""
        return f"{root}/{self.api_version}{space}/{self.plural}/{name}"


class Discovery:
    """Answers from memory, and asks again when a kind is not found: a CRD may have come."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._lock = threading.Lock()
        self._known: dict[str, dict[str, ServedKind]] = {}

    def find(self, api_version: str, kind: str) -> ServedKind | None:
        """The kind as it is served; None when the API server does not know it."""
        with self._lock:
            found = self._known.get(api_version, {}).get(kind)
        if found:
            return found
        kinds = self._ask(api_version)
        with self._lock:
            self._known[api_version] = kinds
        return kinds.get(kind)

    def _ask(self, api_version: str) -> dict[str, ServedKind]:
        root = "/apis" if "/" in api_version else "/api"
        answer = self._api.get(f"{root}/{api_version}") or {}
        resources = answer.get("resources")
        served = [_served(api_version, item) for item in _items(resources)]
        return {found.kind: found for found in served if found}


def _items(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []


def _served(api_version: str, item: Value) -> ServedKind | None:
    match item:
        case {"name": str(plural), "kind": str(kind), "namespaced": bool(namespaced)} if (
            "/" not in plural  # a slash means a subresource, such as pods/status
        ):
            return ServedKind(
                api_version=api_version, kind=kind, plural=plural, namespaced=namespaced
            )
    return None
