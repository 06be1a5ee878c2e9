"""What a gang gets: a buffer that asks, one that only keeps what came, or none; and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from workloads.controllers.gang_buffer import shape
from workloads.controllers.gang_buffer.gang import Gang
from workloads.controllers.gang_buffer.world import World


@dataclass(frozen=True, kw_only=True)
class Decision:
    """`asks`: machines may be made for it. `keeps`: the machines that it may not lose.

    Without either it has no buffer. `says` is for people, and `since` is kept on the PodGroup.
    """

    asks: bool = False
    keeps: tuple[str, ...] = ()
    says: str = ""
    since: datetime | None = None
    is_refusal: bool = False

    @property
    def reason(self) -> str:
        """The reason of its event."""
        if self.is_refusal:
            return "MachinesRefused"
        return "MachinesAsked" if self.asks or self.keeps else "NotStarted"


STARTS_WITHIN = timedelta(minutes=5)
"""After so long a gang that has room, and that Volcano does not start, is told so."""
NOTHING = Decision()


def decide(
    gang: Gang, world: World, *, pools: Sequence[str], give_back: timedelta, now: datetime
) -> Decision:
    """Return what a gang gets now; the room of one that gets any is taken out of the world."""
    if not gang.lacking:
        return NOTHING
    since = gang.since
    if since is not None and not since <= now < since + 2 * give_back:
        since = None  # a new try, or a time that a user wrote
    lacking, left = world.lacks(gang.needs, pools)
    if since is not None and now >= since + give_back:
        again = (since + 2 * give_back).strftime("%H:%M")
        says = (
            f"It waited for {give_back.total_seconds() / 60:.0f} minutes: the machines that came "
            f"are given back, and asked for again at {again} UTC."
        )
        return Decision(says=says, since=since, is_refusal=True)
    if not lacking:
        world.free.update(left)
        return _kept(gang, world, pools, since=since, now=now)
    parts = sorted({part for need in lacking for part in shape.parts_of_gpus(need.shape)})
    refusal = (
        f"It asks for {' and '.join(parts)}, which no machine to rent has."
        if parts
        else world.refusal(lacking, pools)
    )
    if refusal is not None:
        return Decision(says=refusal, since=since, is_refusal=True)
    world.free.update(left)
    says = f"Machines are asked for: {len(lacking)} of its {len(gang.lacking)} pods lack one."
    return Decision(asks=True, says=says, since=since or now)


def _kept(
    gang: Gang, world: World, pools: Sequence[str], *, since: datetime | None, now: datetime
) -> Decision:
    """Return what a gang gets that lacks nothing: a buffer where machines were asked for."""
    if since is not None:
        names = tuple(sorted(name for pool in pools for name in world.names.get(pool, ())))
        return Decision(keeps=names, says=gang.says, since=since)
    tried = gang.tried_since
    if tried is None or now < tried + STARTS_WITHIN:
        return NOTHING  # Volcano is about to start it on what is there
    says = (
        "By requests, node selectors and tolerations its pods have room on the machines that are "
        "there, so none is asked for. Volcano has not started it: the events of its pods say why."
    )
    return Decision(says=says)
