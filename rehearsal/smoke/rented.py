"""The machines that Karpenter rents for a gang of the smoke set, and how they go again.

Karpenter gives a machine back when no pod was on it for the NodePool's `consolidateAfter`, counted
from `status.lastPodEventTime` of its NodeClaim (core v1.14.1,
pkg/controllers/nodeclaim/disruption/consolidation.go). The NodePool stays as the program makes it;
once the gang has ended that time is set back, again after each event that Karpenter counts anew
(pkg/controllers/nodeclaim/podevents/controller.go). The rest is Karpenter's own: it keeps a machine
for 20 s after it was counted on for a waiting pod (pkg/controllers/state/statenode.go), looks for
empty ones every 10 s, and again after 15 s (pkg/controllers/disruption).
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import inf
from pathlib import Path
from typing import Any

from hardware.catalogue import HardwareError, load
from rehearsal.api import Api, ApiServerError
from rehearsal.karpenter import instances
from rehearsal.karpenter.instances import REAL_BOOT_S, Instance
from rehearsal.nodes import NODE_CLAIMS
from rehearsal.smoke.results import RentedMachine

MERGE = {"Content-Type": "application/merge-patch+json"}
CHOSEN = "computed new nodeclaim(s) to fit pod(s)"
"""What Karpenter logs of each round in which it chooses machines (core v1.14.1,
pkg/controllers/provisioning/scheduling/scheduler.go)."""
LOG = Path("logs") / "karpenter.log"
HOUR_S = 3600


@dataclass(kw_only=True)
class RentedMachines:
    """The machines that were rented since `since` and before `until`, times of the clock."""

    api: Api
    directory: Path
    consolidate_after_s: float
    since: float = field(default_factory=time.time)
    until: float = inf
    log_size: int = 0
    log_end: int | None = None
    ready: dict[str, float] = field(default_factory=dict)
    """When the machine of each instance was seen to be initialized."""
    gang_ended: float | None = None
    gone: float | None = None

    def __post_init__(self) -> None:
        self.log_size = self._size()

    def close(self) -> None:
        """Count no machine and no round from now on."""
        self.until, self.log_end = time.time(), self._size()

    def _size(self) -> int:
        path = self.directory / LOG
        return path.stat().st_size if path.exists() else 0

    def look(self, *, gang_over: bool) -> None:
        """Take in which machines are there; once the gang is over, let their time be over."""
        if self.until < inf:
            return
        claims = [each for each in self.api.items(NODE_CLAIMS) if self._is_own(each)]
        for claim in claims:
            conditions = claim.get("status", {}).get("conditions") or ()
            id_ = str(claim.get("status", {}).get("providerID", "")).rpartition("/")[2]
            if any(c["type"] == "Initialized" and c["status"] == "True" for c in conditions):
                self.ready.setdefault(id_, time.time())
        if not gang_over:
            return
        if self.gang_ended is None:
            self.gang_ended = time.time()
        alive = [each for each in instances.alive(self.directory) if each.launched >= self.since]
        if not claims and not alive:
            self.gone = self.gone or time.time()
        for claim in claims:
            self._set_back(claim)

    def _is_own(self, claim: Mapping[str, Any]) -> bool:
        """Whether a NodeClaim is none of somebody who works in a kept twin."""
        made = datetime.fromisoformat(str(claim["metadata"]["creationTimestamp"]))
        return made.timestamp() >= int(self.since)  # the API server counts whole seconds

    def _set_back(self, claim: Mapping[str, Any]) -> None:
        """Let the last event of a machine's pods be as long ago as Karpenter waits for."""
        then = datetime.now(UTC) - timedelta(seconds=self.consolidate_after_s + 1)
        last = (claim.get("status") or {}).get("lastPodEventTime")
        if last and datetime.fromisoformat(str(last)) <= then + timedelta(seconds=1):
            return
        status = {"lastPodEventTime": then.strftime("%Y-%m-%dT%H:%M:%SZ")}
        path = f"{NODE_CLAIMS}/{claim['metadata']['name']}/status"
        try:
            self.api.request("PATCH", path, {"status": status}, headers=MERGE)
        except ApiServerError as error:  # Karpenter has just deleted it
            if error.status != 404:
                raise

    @property
    def rounds(self) -> int:
        """In how many rounds Karpenter has chosen machines."""
        path = self.directory / LOG
        if not path.exists():
            return 0
        with path.open("rb") as log:
            log.seek(self.log_size)
            end = None if self.log_end is None else self.log_end - self.log_size
            return log.read(end).decode(errors="replace").count(f'"{CHOSEN}"')

    @property
    def gone_after_s(self) -> float | None:
        """From the end of the gang to the last machine being gone."""
        if self.gone is None or self.gang_ended is None:
            return None
        return round(self.gone - self.gang_ended, 1)

    def machines(self) -> tuple[RentedMachine, ...]:
        """Every machine that was rented, also one that never came up."""
        found = instances.read(self.directory)
        return tuple(
            self._machine(each) for each in found if self.since <= each.launched < self.until
        )

    def _machine(self, found: Instance) -> RentedMachine:
        ready = self.ready.get(found.id)
        usd = _price(found)
        work_s = max(0.0, (self.gang_ended or time.time()) - (ready or time.time()))
        whole_s = REAL_BOOT_S + work_s + self.consolidate_after_s
        return RentedMachine(
            id=found.id,
            type=found.type,
            zone=found.zone,
            capacity=found.capacity,
            boot_s=None if ready is None else round(ready - found.launched, 1),
            usd_per_hour=usd,
            real_usd=None if usd is None else round(usd * whole_s / HOUR_S, 2),
        )


def _price(found: Instance) -> float | None:
    try:
        return load(found.type).usd_per_hour_as(found.capacity)
    except HardwareError:
        return None
