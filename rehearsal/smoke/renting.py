"""A gang of the smoke set with the machines that Karpenter rents for it, from first to last."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from rehearsal.smoke.followed import RENTED_DEADLINE_S, Followed
from rehearsal.smoke.jobs import SPANS
from rehearsal.smoke.rented import RentedMachines
from rehearsal.smoke.spokesmen import why_waiting


@dataclass(frozen=True, kw_only=True)
class RentingGang:
    """A gang and its machines."""

    gang: Followed
    rented: RentedMachines

    def look(self) -> None:
        """Take in which machines are there."""
        self.rented.look(gang_over=self.gang.outcome is not None)

    @property
    def waits(self) -> bool:
        """Whether its machines may still go."""
        late = time.monotonic() - self.gang.created > 2 * RENTED_DEADLINE_S
        return self.gang.outcome == "ended" and self.rented.gone is None and not late

    def problems(self) -> Iterator[str]:
        """Yield a sentence for each machine too many or too few, and for those that stay."""
        job = self.gang.job
        if self.gang.outcome != "ended":
            return
        if not self.rented.machines():
            yield f"{job.kind}: job {job.name} ran, and Karpenter rented no machine for it."
        elif job.kind == SPANS:
            yield from self._of_span()
        if self.rented.gone is None:
            said = why_waiting(self.gang.api, job.namespace, job.name, ())
            yield f"{job.kind}: the machines of job {job.name} do not go: {said}"

    def _of_span(self) -> Iterator[str]:
        """Yield what is wrong with a gang that must be on machines of both kinds."""
        job, pools = self.gang.job, [*self.gang.nodes.values()]
        missing = [pool for pool in job.pools if pool not in pools]
        if missing:
            yield f"{job.kind}: job {job.name} ran on no machine of pool {' and '.join(missing)}."
        made, used = len(self.rented.machines()), pools.count(job.rents_of)
        if made != used:
            yield f"{job.kind}: job {job.name} ran on {used} rented machines, {made} were rented."
        if self.rented.rounds > 1:
            rounds = self.rented.rounds
            yield f"{job.kind}: job {job.name} had its machines in {rounds} rounds, not in one."
