"""Waiting for the API server: until an object is gone, until a CRD is served."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rehearsal.providers.contract import Refusal
from rehearsal.providers.kubernetes.objects import metadata

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rehearsal.providers.kubernetes.api import Api
    from rehearsal.providers.kubernetes.discovery import Discovery
    from rehearsal.providers.values import Properties, Value

FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 0.5
CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
CRD_PATH = f"/apis/{CRD[0]}/customresourcedefinitions"


def tries(api: Api, limit_s: float) -> Iterator[None]:
    """Yields until `limit_s` seconds have passed, with growing pauses in between."""
    deadline, pause = time.monotonic() + limit_s, FIRST_PAUSE_S
    yield
    while time.monotonic() < deadline:
        api.pause(pause)
        pause = min(2 * pause, LONGEST_PAUSE_S)
        yield


def until_gone(api: Api, path: str, uid: Value, *, limit_s: float) -> None:
    """Returns when the object is gone, or another one has taken its name."""
    live: Properties | None = None
    for _ in tries(api, limit_s):
        live = api.get(path)
        if live is None or metadata(live).get("uid") != uid:
            return
    finalizers = metadata(live or {}).get("finalizers")
    held = ", ".join(map(str, finalizers)) if isinstance(finalizers, list) else "nothing known"
    raise Refusal(
        f"it is still there after {limit_s:.0f} s; finalizers that hold it: {held}.",
        summary="not deleted",
    )


def until_established(api: Api, kinds: Discovery, name: str, *, limit_s: float) -> Properties:
    """Returns the CustomResourceDefinition when objects of its kind can be made."""
    for _ in tries(api, limit_s):
        live = api.get(f"{CRD_PATH}/{name}") or {}
        if _is_established(live) and _is_served(live, kinds):
            return live
    raise Refusal(
        f"CustomResourceDefinition {name} is not established after {limit_s:.0f} s.",
        summary="not established",
    )


def _is_established(live: Properties) -> bool:
    status = live.get("status")
    conditions = status.get("conditions") if isinstance(status, dict) else None
    return any(
        isinstance(item, dict)
        and item.get("type") == "Established"
        and item.get("status") == "True"
        for item in (conditions if isinstance(conditions, list) else [])
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
