"""The fault `node`: an owned machine of a gang stops at once, and comes back when it is mended.

kwok leaves a node alone, and its pods, whose Lease somebody else holds (kwok 0.8.0,
pkg/kwok/controllers/node_lease_controller.go, tryAcquireOrRenew, and readOnlyFunc in
controller.go). So the fault takes the Lease and renews it no more, which is all that Kubernetes
sees of a machine without power. Its timers are the real ones, but for the 300 s that a pod
tolerates a silent node by default, in place of which the gangs of a rehearsal tolerate 10 s.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from rehearsal.errors import RehearsalError
from rehearsal.faults.scene import Hit, Scene
from rehearsal.faults.work import REAL_TOLERATED_S, TOLERATED_S, Gang, is_ready
from rehearsal.nodes import MERGE

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
NOBODY = "nobody"
A_DAY_S = 86_400
DOWN_S = 20.0
"""For so long it stays down after its pods were to be evicted."""
TIME = "%Y-%m-%dT%H:%M:%S.%fZ"


@dataclass(kw_only=True)
class NodeStops:
    """A machine that stops; `limit_s` has the 50 s until a node is taken for silent."""

    limit_s: float = 240.0
    node: str = ""
    gang: Gang | None = None
    evicted_s: float | None = None
    mended: float | None = None

    def inject(self, scene: Scene) -> Hit:
        """Stop a machine of the gang on owned machines."""
        self.gang = scene.gang(rented=False)
        nodes = sorted(self.gang.nodes(scene.now)) if self.gang else []
        if not nodes:
            raise RehearsalError("--fault node: no gang runs on owned machines.")
        self.node = nodes[0]
        _take_lease(scene, self.node, A_DAY_S)
        return Hit(words=f"{self.node} stops", nodes=frozenset({self.node}), gang=self.gang)

    def step(self, scene: Scene) -> None:
        """Bring it back a while after its pods were evicted."""
        if self.evicted_s is None:
            self._look(scene)
        elif self.mended is None and scene.watch.seconds > self.evicted_s + DOWN_S:
            self.end(scene)

    def _look(self, scene: Scene) -> None:
        pods = self.gang.pods(scene.now) if self.gang else []
        here = [pod for pod in pods if pod["spec"].get("nodeName") == self.node]
        if not any(pod["metadata"].get("deletionTimestamp") for pod in here):
            return
        self.evicted_s = scene.watch.seconds
        scene.clock.leave_out(
            self.evicted_s - 1, REAL_TOLERATED_S - TOLERATED_S, "pods tolerate a silent node"
        )

    def over(self, scene: Scene) -> bool:
        """It is Ready again."""
        return self.mended is not None and is_ready(scene.now["Node"].get(self.node, {}))

    def end(self, scene: Scene) -> None:
        """Switch it on again."""
        if self.node and self.mended is None:
            self.mended = scene.watch.seconds
            _take_lease(scene, self.node, 1)

    def mended_s(self) -> float | None:
        """When it was switched on."""
        return self.mended


def _take_lease(scene: Scene, node: str, seconds: int) -> None:
    """Hold the Lease for so long; after one second it is kwok's again."""
    spec = {
        "holderIdentity": NOBODY,
        "leaseDurationSeconds": seconds,
        "renewTime": datetime.now(UTC).strftime(TIME),
    }
    scene.api.request("PATCH", f"{LEASES}/{node}", {"spec": spec}, headers=MERGE)
