"""What Karpenter's controller does to machines that are there already: it alone ends them.

It works while the Release of its chart is in the cluster. Rules as in karpenter v1.14.1
(pkg/controllers/nodeclaim/lifecycle/controller.go, termination/finalizer) and
karpenter-provider-aws v1.14.1 (pkg/controllers/nodeclass/controller.go): a NodeClaim, its Node and
an EC2NodeClass get a finalizer; that of a NodeClaim goes when its machine is drained and
terminated, that of a class when no NodeClaim uses it. Nothing launches a machine here.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rehearsal.api import Api
from rehearsal.nodes import MERGE, NODES
from rehearsal.providers import cloud
from settings.names import RELEASE

CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
CLASSES = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses"
TERMINATION = "karpenter.sh/termination"
CLASS_TERMINATION = "karpenter.k8s.aws/termination"
INSTANCES = "instances.json"
DRAIN_S = 2.0  # a real node takes up to its pool's terminationGracePeriod


def instances(directory: Path) -> list[str]:
    """Return the rented machines that run, by the names of their NodeClaims."""
    path = directory / INSTANCES
    return list(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else []


@dataclass(frozen=True, kw_only=True)
class Karpenter:
    """The controller in the cluster of one rehearsal."""

    api: Api
    directory: Path

    def step(self) -> bool:
        """Do what is due now; return whether anything was."""
        if not self._is_installed():
            return False
        claims = self.api.items(CLAIMS)
        acted = [*self._claims(claims), *self._classes(claims)]
        return bool(acted)

    def _is_installed(self) -> bool:
        return any(
            thing.type == RELEASE and thing.inputs.get("name") == "karpenter"
            for thing in cloud.read(self.directory)
        )

    def _claims(self, claims: list[dict[str, Any]]) -> Iterator[str]:
        before = instances(self.directory)
        running = list(before)
        for claim in claims:
            name = claim["metadata"]["name"]
            deleted = claim["metadata"].get("deletionTimestamp")
            if deleted is None and name not in running:
                self._set_finalizers(f"{CLAIMS}/{name}", [TERMINATION])
                running.append(name)
                yield name
            elif deleted is not None and _seconds_since(deleted) >= DRAIN_S:
                self.api.delete(f"{NODES}/{claim.get('status', {}).get('nodeName', name)}")
                running = [other for other in running if other != name]
                self._set_finalizers(f"{CLAIMS}/{name}", _without(claim, TERMINATION))
                yield name
        if running != before:
            scratch = self.directory / f"{INSTANCES}.new"
            scratch.write_text(json.dumps(running))
            scratch.rename(self.directory / INSTANCES)

    def _classes(self, claims: list[dict[str, Any]]) -> Iterator[str]:
        used = {claim["spec"]["nodeClassRef"]["name"] for claim in claims}
        for found in self.api.items(CLASSES):
            name, finalizers = found["metadata"]["name"], found["metadata"].get("finalizers", [])
            if not found["metadata"].get("deletionTimestamp"):
                if CLASS_TERMINATION not in finalizers:
                    self._set_finalizers(f"{CLASSES}/{name}", [*finalizers, CLASS_TERMINATION])
                    yield name
            elif CLASS_TERMINATION in finalizers and name not in used:
                self._set_finalizers(f"{CLASSES}/{name}", _without(found, CLASS_TERMINATION))
                yield name

    def _set_finalizers(self, path: str, finalizers: list[str]) -> None:
        body = {"metadata": {"finalizers": finalizers}}
        self.api.request("PATCH", path, body, headers=MERGE)


def _without(found: dict[str, Any], finalizer: str) -> list[str]:
    return [each for each in found["metadata"].get("finalizers", []) if each != finalizer]


def _seconds_since(timestamp: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(timestamp)).total_seconds()
