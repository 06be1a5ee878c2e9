"""Ends the jobs that a drain waits for: by itself none of the twin's jobs ends in time.

The program's drains evict what is made anew elsewhere and wait for every other pod until its own
end, for a day if need be. Karpenter's evict all pods but those with karpenter.sh/do-not-disrupt
(`rehearsal.moves.stays` makes `true` of a duration that is not over), for which they wait until the
machine's terminationGracePeriod is over (karpenter v1.14.1,
pkg/controllers/node/termination/terminator). Here the wait lasts seconds, and the report says who
was waited for.
"""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kube.drain import MADE_ANEW
from rehearsal.api import Api, ApiServerError
from rehearsal.errors import RefusedError
from rehearsal.moves.jobs import GANG
from rehearsal.moves.machines import is_emptied, takes_pods
from rehearsal.moves.start import job_of
from rehearsal.moves.stays import FOREVER, STAYS
from rehearsal.moves.watch import Watch
from rehearsal.nodes import MERGE

PATIENCE_S = 2.0
"""A drain waits so long for a job of the twin; a real one until the job's own end."""
POLL_S = 0.2


@dataclass(frozen=True, kw_only=True)
class WaitedFor:
    """A job for whose end a drain has waited."""

    job: str
    node: str


class DrainedJobs:
    """Ends the pods that have no other end, from `start` to `stop`."""

    def __init__(self, api: Api, watch: Watch) -> None:
        self.waited: list[WaitedFor] = []
        self._api = api
        self._watch = watch
        self._since: dict[str, float] = {}
        self._done: set[str] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; what is waited for then is waited for still."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(timeout=10)

    def _run(self) -> None:
        while not self._ended.wait(POLL_S):
            for pod in self._due():
                self._end(pod)

    def _due(self) -> Iterator[dict[str, Any]]:
        nodes, pods = self._watch.latest("Node"), self._watch.latest("Pod").values()
        now, closed = (
            time.monotonic(),
            {n: each for n, each in nodes.items() if not takes_pods(each)},
        )
        self._since = {name: self._since.get(name, now) for name in closed}
        late = {n: each for n, each in closed.items() if now - self._since[n] > PATIENCE_S}
        held = [pod for pod in pods if _is_held(pod, late.get(pod["spec"].get("nodeName", "")))]
        gangs = {job_of(pod) for pod in held if _is_of_gang(pod)}
        whole = [pod for pod in pods if _is_of_gang(pod) and job_of(pod) in gangs]
        due = {pod["metadata"]["uid"]: pod for pod in (*held, *whole) if _ends_by_itself(pod)}
        yield from (pod for uid, pod in due.items() if uid not in self._done)

    def _end(self, pod: dict[str, Any]) -> None:
        """Let a pod end well, as its kubelet would report it."""
        metadata, status = pod["metadata"], pod["status"]
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/status"
        ended = [
            {**each, "ready": False, "started": False, "state": _completed(each)}
            for each in status.get("containerStatuses", [])
        ]
        body = {"status": {"phase": "Succeeded", "containerStatuses": ended}}
        try:
            self._api.request("PATCH", path, body, headers=MERGE)
        except (ApiServerError, RefusedError):
            return  # it is gone, or the next round tries again
        self._done.add(metadata["uid"])
        self.waited.append(WaitedFor(job=job_of(pod), node=pod["spec"]["nodeName"]))


def _is_held(pod: dict[str, Any], node: dict[str, Any] | None) -> bool:
    """Return whether the drain of the pod's machine waits for the pod."""
    if node is None or not _ends_by_itself(pod):
        return False
    annotations = pod["metadata"].get("annotations") or {}
    return not is_emptied(node) or annotations.get(STAYS) == FOREVER


def _is_of_gang(pod: dict[str, Any]) -> bool:
    owners = pod["metadata"].get("ownerReferences") or []
    return any(f"{each['apiVersion']}/{each['kind']}" == GANG for each in owners)


def _ends_by_itself(pod: dict[str, Any]) -> bool:
    owners = [each["kind"] for each in pod["metadata"].get("ownerReferences") or []]
    made_anew = any(kind in (*MADE_ANEW, "DaemonSet", "Node") for kind in owners)
    leaves = "deletionTimestamp" in pod["metadata"]
    return pod["status"].get("phase") == "Running" and not made_anew and not leaves


def _completed(container: dict[str, Any]) -> dict[str, Any]:
    running = (container.get("state") or {}).get("running") or {}
    started = running.get("startedAt")
    times = {"startedAt": started, "finishedAt": started}
    return {"running": None, "terminated": {"exitCode": 0, "reason": "Completed", **times}}
