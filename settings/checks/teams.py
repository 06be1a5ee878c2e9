"""Teams against each other, and their queues against the namespaces and the GPUs of the fleet."""

from collections.abc import Iterator, Mapping

from settings.names import PROJECT, is_system_namespace
from settings.problems import wrong
from settings.resolved import ResolvedPool
from settings.types import Queue, Team

RESERVED_QUEUES = ("root", "default")
"""Queues that Volcano makes itself."""


def team_mistakes(
    teams: Mapping[str, Team], pools: Mapping[str, ResolvedPool] | None
) -> Iterator[str]:
    """`pools` is None where one of them could not be read, so that nobody knows the GPUs."""
    gpus = {name: pool.gpus for name, pool in (pools or {}).items()}
    first: dict[str, str] = {}
    for team, entry in teams.items():
        for name, queue in entry.queues.items():
            path = f"{PROJECT}:teams.{team}.queues.{name}"
            taken = first.setdefault(name, path)
            if taken != path:
                yield f"{path} is {taken} too; allowed: a name that no other team's queue has."
            if name in RESERVED_QUEUES:
                yield f"{path} is a queue that Volcano makes itself; allowed: any other name."
            elif is_system_namespace(name):
                yield (
                    f"{path} would be the namespace of a part of the cluster; allowed: any other "
                    "name."
                )
            if gpus:
                yield from _room(path, queue, gpus)


def _room(path: str, queue: Queue, gpus: Mapping[str, int]) -> Iterator[str]:
    """A queue against the GPUs of its pool, or of all pools."""
    if queue.pool is not None and not gpus.get(queue.pool):
        fitting = ", ".join(name for name, count in gpus.items() if count) or "there is none"
        yield wrong(f"{path}.pool", queue.pool, f"a pool with GPUs ({fitting})")
        return
    most = sum(gpus.values()) if queue.pool is None else gpus[queue.pool]
    if queue.gpus > most:
        of = "all pools" if queue.pool is None else f"pool {queue.pool}"
        yield wrong(f"{path}.gpus", queue.gpus, f"at most the {most} GPUs of {of}")
