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


NOTHING = Decision()


def decide(
    gang: Gang, world: World, *, pools: Sequence[str], give_back: timedelta, now: datetime
) -> Decision:
    """Return what a gang gets now, and take its room out of the world."""
    if not gang.lacking:
        return NOTHING
    since = gang.since
    if since is not None and not since <= now < since + 2 * give_back:
        since = None  # a new try, or a time that a user wrote
    lacking = world.lacks(gang.shapes, pools)
    if since is not None and now >= since + give_back:
        again = (since + 2 * give_back).strftime("%H:%M")
        says = (
            f"It waited for {give_back.total_seconds() / 60:.0f} minutes: the machines that came "
            f"are given back, and asked for again at {again} UTC."
        )
        return Decision(says=says, since=since, is_refusal=True)
    if not lacking and since is None:
        return NOTHING  # Volcano is about to start it on what is there
    if not lacking:
        names = tuple(sorted(name for pool in pools for name in world.names.get(pool, ())))
        return Decision(keeps=names, says=gang.says, since=since)
    parts = sorted({part for pod in gang.lacking for part in shape.parts_of_gpus(pod["spec"])})
    refusal = (
        f"It asks for {' and '.join(parts)}, which no machine to rent has."
        if parts
        else world.refusal(lacking, pools)
    )
    if refusal is not None:
        return Decision(says=refusal, since=since, is_refusal=True)
    says = f"Machines are asked for: {len(lacking)} of its {len(gang.lacking)} pods lack one."
    return Decision(asks=True, says=says, since=since or now)
