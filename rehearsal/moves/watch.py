"""Notes what happens to machines and pods of the twin, in the order of the API server's watch."""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx

from rehearsal.api import Api
from rehearsal.errors import RefusedError
from rehearsal.metal3 import HOSTS
from rehearsal.moves.start import PODS
from rehearsal.nodes import NODE_CLAIMS, NODES

Kind = Literal["Node", "Pod", "BareMetalHost", "NodeClaim", "Gang"]
COLLECTIONS: dict[Kind, str] = {
    "Node": NODES,
    "Pod": PODS,
    "BareMetalHost": HOSTS,
    "NodeClaim": NODE_CLAIMS,
}
READ_TIMEOUT_S = 1.0
"""After so long without news a stream is opened again, so that it notices its end."""
PAUSE_S = 0.2


@dataclass(frozen=True, kw_only=True)
class Seen:
    """An object as it was at a time, in seconds since the watch began; `gone` where it ended."""

    at_s: float
    kind: Kind
    key: str
    found: dict[str, Any] = field(repr=False)
    gone: bool = False
    first: bool = False
    """True where it was there when the watch began."""


class Watch:
    """Watches from `start` to `stop`; `seen` grows meanwhile, by several threads."""

    def __init__(self, api: Api, collections: Mapping[Kind, str] | None = None) -> None:
        self.seen: list[Seen] = []
        self._api = api
        self._collections = collections or COLLECTIONS
        self._ended = threading.Event()
        self._began = 0.0
        self._threads: list[threading.Thread] = []
        self._known: dict[Kind, dict[str, dict[str, Any]]] = {
            kind: {} for kind in self._collections
        }

    def start(self) -> None:
        """Begin; returns when everything that is there has been seen."""
        self._began = time.monotonic()
        for kind in self._collections:
            version = self._list(kind, first=True)
            thread = threading.Thread(target=self._follow, args=(kind, version), daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """End; nothing is noted afterwards."""
        self._ended.set()
        for thread in self._threads:
            thread.join(timeout=2 * READ_TIMEOUT_S)

    @property
    def seconds(self) -> float:
        """The seconds since it began."""
        return time.monotonic() - self._began

    def latest(self, kind: Kind) -> dict[str, dict[str, Any]]:
        """Return the objects of a kind as they were seen last, by namespace and name."""
        return dict(self._known[kind])

    def _follow(self, kind: Kind, version: str | None) -> None:
        while not self._ended.is_set():
            try:
                version = self._list(kind) if version is None else self._read(kind, version)
            except (RefusedError, httpx.HTTPError, json.JSONDecodeError):
                self._ended.wait(PAUSE_S)  # the rehearsal itself notices an API server that ended

    def _list(self, kind: Kind, *, first: bool = False) -> str | None:
        """Note all objects of a kind, and those that are no longer there."""
        listed = self._api.get(self._collections[kind])
        if listed is None:  # nobody has installed the kind
            self._ended.wait(PAUSE_S)
            return None
        there = {_key(each): each for each in listed["items"]}
        for key in [key for key in self._known[kind] if key not in there]:
            self._note(kind, self._known[kind][key], gone=True)
        for each in there.values():
            self._note(kind, each, first=first)
        return str(listed["metadata"]["resourceVersion"])

    def _read(self, kind: Kind, version: str) -> str | None:
        """Note events until there is no news; return the version to go on from, None for a list."""
        try:
            for event in self._events(kind, version):
                found = event["object"]
                if event["type"] == "ERROR":  # such as a version that is too old by now
                    return None
                version = str(found["metadata"]["resourceVersion"])
                if event["type"] != "BOOKMARK":
                    self._note(kind, found, gone=event["type"] == "DELETED")
        except httpx.ReadTimeout:
            pass
        return version

    def _events(self, kind: Kind, version: str) -> Iterator[dict[str, Any]]:
        query = {"watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true"}
        timeout = httpx.Timeout(READ_TIMEOUT_S * 10, read=READ_TIMEOUT_S)
        path = self._collections[kind]
        stream = self._api.client.stream("GET", path, params=query, timeout=timeout)
        with stream as response:
            response.raise_for_status()
            for line in response.iter_lines():
                if self._ended.is_set():
                    return
                yield json.loads(line)

    def _note(
        self, kind: Kind, found: dict[str, Any], *, gone: bool = False, first: bool = False
    ) -> None:
        key = _key(found)
        if gone:
            self._known[kind].pop(key, None)
        else:
            self._known[kind][key] = found
        seen = Seen(at_s=self.seconds, kind=kind, key=key, found=found, gone=gone, first=first)
        self.seen.append(seen)


def _key(found: dict[str, Any]) -> str:
    metadata = found["metadata"]
    space = metadata.get("namespace")
    return f"{space}/{metadata['name']}" if space else str(metadata["name"])
