"""The controllers of charts and our own, killed at random moments while a gang rents.

Karpenter, Volcano's programs and ours have nothing to do while an update runs. So each is killed
once while the smoke set runs, at a moment that follows from the seed, and is started again as its
release, or the program, starts it. EC2's instances then say what that did: a NodeClaim must have
one machine, the gang no more machines than it runs on, and none may be left.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from rehearsal.controllers.controller import Controller, Controllers, started
from rehearsal.karpenter import instances
from rehearsal.karpenter.instances import Instance
from rehearsal.kills import Kills
from rehearsal.smoke.jobs import RENTED
from rehearsal.smoke.results import Smoke

LATEST_S = 15.0
"""Meanwhile a gang waits, its machines are asked for, boot and join, and it starts."""
CLAIM_OF = "karpenter.sh/nodeclaim"


@dataclass(kw_only=True)
class ControllerKills:
    """The kills of one run of the smoke set, which calls `look` several times a second."""

    controllers: Controllers
    seed: int
    clock: Callable[[], float] = time.monotonic
    since: float = field(default_factory=time.time)
    restarted: list[str] = field(default_factory=list)
    _due: list[tuple[float, Controller]] | None = None

    def look(self) -> None:
        """Kill what is due, and start it again; raises RehearsalError for a server that ended."""
        self.controllers.processes.check()
        if self._due is None:
            self._due = list(self._drawn())
        while self._due and self.clock() >= self._due[0][0]:
            self._restart(self._due.pop(0)[1])

    def finish(self) -> None:
        """Kill those whose moment the smoke set did not last for."""
        for _, each in self._due if self._due is not None else self._drawn():
            self._restart(each)
        self._due = []

    def told(self, kills: Kills, smoke: Smoke) -> Kills:
        """Return the kills of the update with these, and with the machines that they doubled."""
        launched = [
            each
            for each in instances.read(self.controllers.directory)
            if each.launched >= self.since
        ]
        gang = next((run for run in smoke.runs if run.kind == RENTED), None)
        needed = len(gang.nodes) if gang and gang.outcome == "ended" else len(launched)
        alive = instances.alive(self.controllers.directory)
        left = [each for each in alive if each.launched >= self.since]
        return replace(
            kills,
            restarted=(*kills.restarted, *self.restarted),
            doubled=(*kills.doubled, *_too_many(launched, needed)),
            orphaned=(*kills.orphaned, *(_title(each) for each in left)),
        )

    def _drawn(self) -> Iterator[tuple[float, Controller]]:
        """Yield the controllers that run in the order of their moments."""
        chosen = random.Random(self.seed)  # noqa: S311  # moments that a seed repeats, no secret
        found = started(self.controllers.directory)
        now = self.clock()
        due = [(now + chosen.uniform(0, LATEST_S), each) for each in found]
        yield from sorted(due, key=lambda each: each[0])

    def _restart(self, each: Controller) -> None:
        self.controllers.processes.kill(each.name)
        self.controllers.start([each])
        self.restarted.append(each.name)


def _too_many(launched: list[Instance], needed: int) -> Iterator[str]:
    """Yield the second machines of a NodeClaim, and then the last of those that nobody needed."""
    seen: Counter[str] = Counter()
    first: list[Instance] = []
    for each in launched:
        claim = each.tags.get(CLAIM_OF, each.id)
        seen[claim] += 1
        if seen[claim] > 1:
            yield _title(each)
        else:
            first.append(each)
    yield from (_title(each) for each in first[needed:])


def _title(machine: Instance) -> str:
    claim = machine.tags.get(CLAIM_OF)
    return f"machine {machine.id} of {claim}" if claim else f"machine {machine.id}"
