"""The scenarios, as data: what there is before, what is asked for, and what would be right."""

from dataclasses import dataclass

AMPLE, FULL = "ample", "full"
QUEUES = {AMPLE: 64, FULL: 2}
"""The queues of every scheduler, each a namespace, with the machines that its jobs may have."""

PLENTY = 8
"""Machines that can be rented where a scenario says no other number."""


@dataclass(frozen=True, kw_only=True)
class Gang:
    """Pods that are of use together alone."""

    name: str
    members: int
    queue: str = AMPLE
    anywhere: bool = False
    """Whether it may run on owned machines too, where its scheduler can say so."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """What there is, what is asked for at one moment, and what a scheduler should make of it."""

    name: str
    title: str
    gangs: tuple[Gang, ...]
    can_start: int
    """How many of the gangs have room."""
    needed: int
    """The machines that have to be made for them."""
    spot: int = PLENTY
    reserved: int = 0
    on_demand: int = 0
    sold_out: bool = False
    """Whether AWS has no spot machine, though the limit allows some."""
    idle_rented: int = 0
    idle_owned: int = 0
    before: Gang | None = None
    """Runs already."""
    interrupted: bool = False
    """Whether AWS takes one of the machines back when the gang runs.

    Karpenter then rents no spot machine of that type and zone for three minutes (AWS provider
    v1.14.1, pkg/controllers/interruption/utils.go and pkg/cache/cache.go), so that the one in its
    place has to be of another capacity.
    """


def _one(members: int, *, anywhere: bool = False) -> tuple[Gang, ...]:
    return (Gang(name="one", members=members, anywhere=anywhere),)


SCENARIOS = (
    Scenario(
        name="nothing-idle",
        title="no machine is there",
        gangs=_one(3),
        can_start=1,
        needed=3,
    ),
    Scenario(
        name="rented-idle",
        title="1 of 3 machines is there, rented and idle",
        gangs=_one(3),
        idle_rented=1,
        can_start=1,
        needed=2,
    ),
    Scenario(
        name="owned-idle",
        title="1 of 3 machines is there, owned and idle",
        gangs=_one(3, anywhere=True),
        idle_owned=1,
        can_start=1,
        needed=2,
    ),
    Scenario(
        name="limit",
        title="the pool may have 2 machines, the gang needs 3",
        gangs=_one(3),
        spot=2,
        can_start=0,
        needed=0,
    ),
    Scenario(
        name="sold-out",
        title="1 machine can be had and spot is sold out, the gang needs 3",
        gangs=_one(3),
        reserved=1,
        sold_out=True,
        can_start=0,
        needed=0,
    ),
    Scenario(
        name="full-queue",
        title="a gang of 2 fills its queue, another of 2 comes",
        gangs=(Gang(name="second", members=2, queue=FULL),),
        before=Gang(name="first", members=2, queue=FULL),
        can_start=0,
        needed=0,
    ),
    Scenario(
        name="two-gangs",
        title="two gangs of 3 come at once, the pool may have 3 machines",
        gangs=(Gang(name="one", members=3), Gang(name="other", members=3)),
        spot=3,
        can_start=1,
        needed=3,
    ),
    Scenario(
        name="interruption",
        title="AWS takes back 1 of 2 spot machines, 1 on-demand machine can be had",
        gangs=_one(2),
        on_demand=1,
        interrupted=True,
        can_start=1,
        needed=3,
    ),
)
