"""The fault `boot`: a rented machine is replaced, and the next one never joins the cluster.

Karpenter gives a machine up that has not registered 15 minutes after its launch, by the time of the
condition (core v1.14.1, pkg/controllers/nodeclaim/lifecycle/liveness.go). Those 15 minutes are
shortened: the time of the condition is set back.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from rehearsal.api import ApiServerError
from rehearsal.errors import RehearsalError
from rehearsal.faults.scene import Hit, Scene
from rehearsal.faults.spot import machines
from rehearsal.karpenter import instances
from rehearsal.karpenter.instances import Instance
from rehearsal.karpenter.machines import hang_next, hang_no_more, hung
from rehearsal.nodes import MERGE, NODE_CLAIMS

GIVEN_UP_AFTER_S = 900.0
CONFLICT = 409
WATCHED_S = 15.0
"""For so long it is let wait in the twin."""


@dataclass(kw_only=True)
class BootHangs:
    """A machine that never registers."""

    limit_s: float = 300.0
    replaced: Instance | None = None
    aged: bool = False

    def inject(self, scene: Scene) -> Hit:
        """Delete the NodeClaim of a machine of the rented gang; the next machine will hang."""
        gang = scene.gang(rented=True)
        found = machines(scene, gang, scene.now) if gang else {}
        if gang is None or not found:
            raise RehearsalError("--fault boot: no gang runs on rented machines.")
        node, self.replaced = min(found.items())
        claims = scene.now["NodeClaim"].values()
        claim = next(each for each in claims if (each.get("status") or {}).get("nodeName") == node)
        hang_next(scene.directory)
        scene.api.delete(f"{NODE_CLAIMS}/{claim['metadata']['name']}", dependents="Background")
        words = f"{node} is replaced, and the next machine never joins"
        return Hit(words=words, nodes=frozenset({node}), gang=gang)

    def step(self, scene: Scene) -> None:
        """Let the fifteen minutes of the machine that hangs be over."""
        instance = hung(scene.directory)
        if self.aged or instance is None:
            return
        claim = _claim_of(scene, instance)
        waited = datetime.now(UTC).timestamp() - instance.launched
        if claim is not None and waited > WATCHED_S and _set_back(scene, claim):
            self.aged, at_s = True, scene.watch.seconds
            scene.clock.leave_out(
                at_s - 1, GIVEN_UP_AFTER_S - waited, "Karpenter waits for a machine that hangs"
            )

    def over(self, scene: Scene) -> bool:
        """The machine that hung has ended."""
        instance = hung(scene.directory)
        alive = {each.id for each in instances.alive(scene.directory)}
        return self.aged and instance is not None and instance.id not in alive

    def end(self, scene: Scene) -> None:
        """Let every machine boot again, also one that the fault did not come to."""
        hang_no_more(scene.directory)

    def mended_s(self) -> float | None:
        """Nobody mends it."""
        return None


def _claim_of(scene: Scene, instance: Instance) -> dict[str, Any] | None:
    claims = scene.now["NodeClaim"].values()
    ids = {str((each.get("status") or {}).get("providerID", "")): each for each in claims}
    return next((each for id_, each in ids.items() if id_.endswith(f"/{instance.id}")), None)


def _set_back(scene: Scene, claim: dict[str, Any]) -> bool:
    """Set back the time of a claim's condition; return whether that was done."""
    path = f"{NODE_CLAIMS}/{claim['metadata']['name']}"
    live = scene.api.get(path)
    if live is None:
        return False
    then = datetime.now(UTC) - timedelta(seconds=GIVEN_UP_AFTER_S)
    conditions = live["status"]["conditions"]
    for each in conditions:
        if each["type"] == "Registered":
            each["lastTransitionTime"] = then.strftime("%Y-%m-%dT%H:%M:%SZ")
    version = {"resourceVersion": live["metadata"]["resourceVersion"]}
    body = {"metadata": version, "status": {"conditions": conditions}}
    try:
        scene.api.request("PATCH", f"{path}/status", body, headers=MERGE)
    except ApiServerError as error:
        if (
            error.status != CONFLICT
        ):  # Karpenter wrote it at the same time: the next step tries again
            raise
        return False
    return True
