"""Sets the node's condition and taint through the API server with the pod's own token."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workloads.api_server import ACCOUNT, ApiServer, ApiServerError
from workloads.node_check.drift import Drift

CONDITION = "NodeDrift"
TAINT = "fleet.gpu/drift"
EFFECT = "NoSchedule"
MESSAGE_CHARACTERS = 2000
_CONFLICT = 409
_ATTEMPTS = 5


@dataclass(frozen=True, kw_only=True)
class NodeApi:
    """One node at one API server."""

    host: str
    port: int
    node: str
    account: Path = ACCOUNT

    def report(self, drifts: Sequence[Drift], now: str, *, judged: bool = True) -> None:
        """Sets the condition and sets or takes away the taint; `now` is a time of RFC 3339.

        A machine that could not be judged gets the condition Unknown and keeps its taint or lack.
        """
        node = self._request("GET", "", None, "")
        status = {"status": {"conditions": [condition(node, drifts, now, judged=judged)]}}
        self._request("PATCH", "/status", status, "application/strategic-merge-patch+json")
        if judged:
            self._taint(node, drifts)

    def _taint(self, node: Mapping[str, Any], drifts: Sequence[Drift]) -> None:
        for attempt in range(1, _ATTEMPTS + 1):
            patch = taint_patch(node, drifts)
            if patch is None:
                return
            try:
                self._request("PATCH", "", patch, "application/merge-patch+json")
            except ApiServerError as error:
                if error.status != _CONFLICT or attempt == _ATTEMPTS:
                    raise
                node = self._request("GET", "", None, "")
            else:
                return

    def _request(
        self, method: str, suffix: str, body: Mapping[str, Any] | None, kind: str
    ) -> Mapping[str, Any]:
        path = f"/api/v1/nodes/{self.node}{suffix}"
        server = ApiServer(host=self.host, port=self.port, account=self.account)
        return server.request(method, path, body, kind)


def condition(
    node: Mapping[str, Any], drifts: Sequence[Drift], now: str, *, judged: bool = True
) -> dict[str, str]:
    """Returns the node's condition; its time of transition changes with its status alone."""
    status, reason = ("True", "DriftFound") if drifts else ("False", "AsPlanned")
    if not judged:
        status, reason = "Unknown", "NoPlan"
    known: Sequence[Mapping[str, str]] = node.get("status", {}).get("conditions") or ()
    before = next((each for each in known if each["type"] == CONDITION), {})
    since = before.get("lastTransitionTime", now) if before.get("status") == status else now
    message = " ".join(drift.sentence for drift in drifts) or "The machine is as planned."
    return {
        "type": CONDITION,
        "status": status,
        "reason": reason,
        "message": message[:MESSAGE_CHARACTERS],
        "lastHeartbeatTime": now,
        "lastTransitionTime": since,
    }


def taint_patch(node: Mapping[str, Any], drifts: Sequence[Drift]) -> dict[str, Any] | None:
    """Returns a merge patch that keeps all other taints; None where nothing changes.

    A list is replaced whole, so the patch names the version that it was made from.
    """
    before = node.get("spec", {}).get("taints") or []
    others = [each for each in before if each["key"] != TAINT]
    ours = [{"key": TAINT, "value": drifts[0].check, "effect": EFFECT}] if drifts else []
    if [each for each in before if each["key"] == TAINT] == ours:
        return None
    version = node["metadata"]["resourceVersion"]
    return {"metadata": {"resourceVersion": version}, "spec": {"taints": [*others, *ours]}}
