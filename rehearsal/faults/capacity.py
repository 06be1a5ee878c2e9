"""The fault `capacity`: a gang asks for machines when EC2 has no more of some, and later has again.

What is reserved is there for whoever has reserved it, so a gang on reserved and other capacity
gets a part of its machines. Karpenter asks again 3 minutes after it was told of an offering that
EC2 is out of it (AWS provider v1.14.1, pkg/cache/cache.go, UnavailableOfferingsTTL): that time is
the real one.
"""

import time
from dataclasses import dataclass

from rehearsal.errors import RehearsalError
from rehearsal.faults.scene import Hit, Scene
from rehearsal.faults.spot import machines
from rehearsal.faults.work import Gang
from rehearsal.karpenter.launch import sell_out
from rehearsal.nodes import NODE_CLAIMS

SOLD_OUT = ("spot", "on-demand")
GONE_WITHIN_S = 120.0
PAUSE_S = 0.2
REASON = "InsufficientCapacityError"
WATCHED_S = 60.0
"""For so long it stays sold out after Karpenter has said so."""


@dataclass(kw_only=True)
class SoldOut:
    """EC2 without capacity, from before the gang asks until a while after it was refused."""

    limit_s: float = 480.0
    known: frozenset[tuple[str, str]] = frozenset()
    """Karpenter's events of before, by uid and version: those of an earlier fault stay an hour."""
    told_s: float | None = None
    mended: float | None = None

    def inject(self, scene: Scene) -> Hit:
        """Sell out what is not reserved, end the gang with its machines, and let it ask again."""
        gang = scene.gang(rented=True)
        found = machines(scene, gang, scene.now) if gang else {}
        if gang is None or not any(each.capacity in SOLD_OUT for each in found.values()):
            raise RehearsalError(
                "--fault capacity: no gang runs on rented machines that are not reserved."
            )
        self.known = _events(scene)
        sell_out(scene.directory, [{"capacity": each} for each in SOLD_OUT])
        scene.api.delete(gang.job.path, dependents="Background")
        for claim in scene.now["NodeClaim"].values():
            if (claim.get("status") or {}).get("nodeName") in found:
                scene.api.delete(
                    f"{NODE_CLAIMS}/{claim['metadata']['name']}", dependents="Background"
                )
        _ask_again(scene, gang)
        none = " and ".join(SOLD_OUT)
        return Hit(
            words=f"{none} are sold out when {gang.name} asks for {len(found)} machines",
            nodes=frozenset(found),
            gang=gang,
            asks_s=scene.watch.seconds,
        )

    def step(self, scene: Scene) -> None:
        """Give capacity back a while after Karpenter was told that there is none."""
        if self.told_s is None:
            self.told_s = scene.watch.seconds if _events(scene) - self.known else None
        elif self.mended is None and scene.watch.seconds > self.told_s + WATCHED_S:
            self.end(scene)

    def over(self, _scene: Scene) -> bool:
        """EC2 has capacity again."""
        return self.mended is not None

    def end(self, scene: Scene) -> None:
        """Let EC2 have capacity again."""
        sell_out(scene.directory, [])
        self.mended = scene.watch.seconds if self.mended is None else self.mended

    def mended_s(self) -> float | None:
        """When EC2 had capacity again."""
        return self.mended


def _events(scene: Scene) -> frozenset[tuple[str, str]]:
    """Return the events by which Karpenter says that EC2 has none; one said again is another."""
    found = scene.api.items("/api/v1/events", fieldSelector=f"reason={REASON}")
    return frozenset(
        (each["metadata"]["uid"], each["metadata"]["resourceVersion"]) for each in found
    )


def _ask_again(scene: Scene, gang: Gang) -> None:
    """Make the gang anew when it is gone with its machines."""
    deadline = time.monotonic() + GONE_WITHIN_S
    while not _is_gone(scene, gang):
        scene.processes.check()
        if time.monotonic() > deadline:
            raise RehearsalError(f"--fault capacity: {gang.name} did not go with its machines.")
        time.sleep(PAUSE_S)
    scene.api.create(gang.job.collection, gang.job.manifest)


def _is_gone(scene: Scene, gang: Gang) -> bool:
    now = scene.now
    return gang.name not in now["Gang"] and not gang.pods(now) and not now["NodeClaim"]
