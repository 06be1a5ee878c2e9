"""The fault `spot`: EC2 takes back a machine of a gang, with its warning two minutes before.

Karpenter ends the machine as soon as its pods are gone; where it has not, EC2 does after the two
minutes (EC2 user guide, "Spot Instance interruption notices").
"""

import time
from dataclasses import dataclass

import httpx

from rehearsal.errors import RehearsalError
from rehearsal.faults.scene import Hit, Scene
from rehearsal.faults.work import Gang, Now
from rehearsal.karpenter import account, instances
from rehearsal.karpenter.instances import Instance
from rehearsal.karpenter.server import ADDRESS, ITSELF
from rehearsal.karpenter.services import warn_of_interruption

NOTICE_S = 120.0
SIGNED = f"Credential={ITSELF}/20260101/us-east-1/ec2/aws4_request"
"""By which the stand-in knows the service that is meant, and that no user asks."""


@dataclass(kw_only=True)
class SpotEnds:
    """A spot machine that AWS takes back."""

    limit_s: float = 300.0
    instance: Instance | None = None
    warned: float = 0.0

    def inject(self, scene: Scene) -> Hit:
        """Warn of the end of one spot machine of the gang on rented machines."""
        gang = scene.gang(rented=True)
        found = machines(scene, gang, scene.now) if gang else {}
        spot = {node: each for node, each in found.items() if each.capacity == "spot"}
        region = account.read(scene.directory)
        if gang is None or not spot or region is None:
            raise RehearsalError("--fault spot: no gang runs on a spot machine.")
        node, self.instance = min(spot.items())
        self.warned = time.monotonic()
        warn_of_interruption(scene.directory, self.instance.id, region.region)
        words = f"EC2 takes {self.instance.id} back ({node}, {self.instance.type})"
        return Hit(words=words, nodes=frozenset({node}), gang=gang)

    def step(self, scene: Scene) -> None:
        """End the machine when the notice is over, if Karpenter has not."""
        if not self.over(scene) and time.monotonic() > self.warned + NOTICE_S:
            self.end(scene)

    def over(self, scene: Scene) -> bool:
        """The machine has ended."""
        alive = {each.id for each in instances.alive(scene.directory)}
        return self.instance is not None and self.instance.id not in alive

    def end(self, scene: Scene) -> None:
        """End the machine as EC2 does."""
        if self.instance is not None and not self.over(scene):
            terminate(scene, self.instance)

    def mended_s(self) -> float | None:
        """Nobody mends it."""
        return None


def machines(scene: Scene, gang: Gang, now: Now) -> dict[str, Instance]:
    """Return the rented machines on which a gang has pods, by node."""
    ids = {
        node: str(now["Node"].get(node, {}).get("spec", {}).get("providerID", "")).rpartition("/")[
            2
        ]
        for node in gang.nodes(now)
    }
    known = {each.id: each for each in instances.alive(scene.directory)}
    return {node: known[id_] for node, id_ in ids.items() if id_ in known}


def terminate(scene: Scene, instance: Instance) -> None:
    """End an instance, as EC2 does without anybody's right to it."""
    address = (scene.directory / ADDRESS).read_text(encoding="utf-8")
    form = {"Action": "TerminateInstances", "InstanceId.1": instance.id, "Version": "2016-11-15"}
    with httpx.Client(trust_env=False) as client:
        client.post(address, data=form, headers={"Authorization": SIGNED}).raise_for_status()
