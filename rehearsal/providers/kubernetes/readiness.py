"""The kinds that an API server serves, the CRDs that add some, and the waits for both."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from rehearsal.api import FIELD_MANAGER, Api
from rehearsal.errors import RefusedError
from rehearsal.providers.kubernetes.objects import metadata
from rehearsal.providers.values import Properties, Value

FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 0.5
CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
CRD_PATH = f"/apis/{CRD[0]}/customresourcedefinitions"
ESTABLISHED_WITHIN_S = 60.0
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Volcano's CRDs are a megabyte of YAML: 0.2 s in C, 2 s in Python."""


@dataclass(frozen=True, kw_only=True)
class ServedKind:
    """A kind that the API server serves; `plural` is its name in paths, such as `jobs`."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool

    def path(self, namespace: str | None, name: str) -> str:
        """The path of one object; `namespace` is left out for a kind that has none."""
        space = f"/namespaces/{in_path(str(namespace))}" if self.namespaced else ""
        return f"{_root(self.api_version)}{space}/{self.plural}/{in_path(name)}"


def in_path(name: str) -> str:
    """A name as a segment of a path; names of roles may have any character but / and %."""
    return quote(name, safe=":")


class Discovery:
    """The kinds that an API server serves.

    Answers from memory, and asks again for a kind that is not there: a CRD may have been made.
    """

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
        answer = self._api.get(_root(api_version)) or {}
        return {
            item["kind"]: ServedKind(
                api_version=api_version,
                kind=item["kind"],
                plural=item["name"],
                namespaced=item["namespaced"],
            )
            for item in answer.get("resources", [])
            if "/" not in item["name"]  # a slash means a subresource, such as pods/status
        }


def _root(api_version: str) -> str:
    path = quote(api_version)
    return f"/apis/{path}" if "/" in path else f"/api/{path}"


def tries(api: Api, limit_s: float) -> Iterator[None]:
    """Yields until `limit_s` seconds have passed, with growing pauses in between."""
    deadline, pause = time.monotonic() + limit_s, FIRST_PAUSE_S
    yield
    while time.monotonic() < deadline:
        api.pause(pause)
        pause = min(2 * pause, LONGEST_PAUSE_S)
        yield


def until_gone(api: Api, path: str, uid: Value, *, limit_s: float) -> None:
    """Returns when the object is gone, or when another object has its name."""
    live: Properties | None = None
    for _ in tries(api, limit_s):
        live = api.get(path)
        if live is None or metadata(live).get("uid") != uid:
            return
    finalizers = metadata(live or {}).get("finalizers")
    held = ", ".join(map(str, finalizers)) if isinstance(finalizers, list) else "nothing known"
    raise RefusedError(
        f"it is still there after {limit_s:.0f} s; finalizers that hold it: {held}.",
        summary="not deleted",
    )


def definitions(folder: Path) -> list[dict[str, Any]]:
    """The CustomResourceDefinitions in the files of a folder; it must have one at least."""
    found = [
        document
        for path in sorted(folder.glob("*.yaml"))
        for document in yaml.load_all(path.read_text(encoding="utf-8"), Loader=_LOADER)
        if document
    ]
    if not found:
        raise RefusedError(
            f"{folder} has no CustomResourceDefinition: build the toolchain's CRDs first.",
            summary="no CRDs",
        )
    return found


def install_crds(api: Api, folder: Path, *, manager: str = FIELD_MANAGER) -> None:
    """Applies the CRDs in a folder and returns when the API server serves their kinds."""
    kinds, names = Discovery(api), []
    for definition in definitions(folder):
        names.append(definition["metadata"]["name"])
        api.apply(f"{CRD_PATH}/{names[-1]}", definition, manager=manager, force=True)
    for name in names:
        until_established(api, kinds, name, limit_s=ESTABLISHED_WITHIN_S)


def until_established(api: Api, kinds: Discovery, name: str, *, limit_s: float) -> None:
    """Returns when the API server accepts objects of the kind that the CRD `name` defines."""
    for _ in tries(api, limit_s):
        live = api.get(f"{CRD_PATH}/{name}") or {}
        conditions = live.get("status", {}).get("conditions") or []
        established = any(c["type"] == "Established" and c["status"] == "True" for c in conditions)
        if established and _is_served(live, kinds):
            return
    raise RefusedError(
        f"CustomResourceDefinition {name} is not established after {limit_s:.0f} s.",
        summary="not established",
    )


def _is_served(live: Properties, kinds: Discovery) -> bool:
    match live.get("spec"):
        case {"group": str(group), "names": {"kind": str(kind)}, "versions": list(versions)}:
            served = [
                item["name"] for item in versions if isinstance(item, dict) and item["served"]
            ]
            return all(kinds.find(f"{group}/{version}", kind) for version in served)
        case _:
            return False
