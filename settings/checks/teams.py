"""Checks of teams' queues against each other, system namespaces and the GPUs of the fleet."""

from collections.abc import Iterator, Mapping

from settings.names import PROJECT, is_system_namespace
from settings.problems import Mistake, wrong
from settings.resolved import ResolvedPool
from settings.types import Queue, Team

RESERVED_QUEUES = ("root", "default")
"""Queues that Volcano creates itself."""


def team_mistakes(
    teams: Mapping[str, Team], pools: Mapping[str, ResolvedPool] | None
) -> Iterator[str]:
    """Yield the mistakes in queues; `pools` is None where one is invalid, and so GPUs unknown."""
    gpus = {name: pool.gpus for name, pool in (pools or {}).items()}
    first: dict[str, str] = {}
    for team, entry in teams.items():
        for name, queue in entry.queues.items():
            path = f"{PROJECT}:teams.{team}.queues.{name}"
            taken = first.setdefault(name, path)
            if taken != path:
                yield Mistake(path, f" is taken by {taken}; allowed: any other name.")
            if name in RESERVED_QUEUES:
                yield Mistake(
                    path, " is a queue that Volcano creates itself; allowed: any other name."
                )
            elif is_system_namespace(name):
                yield Mistake(path, " is a system namespace; allowed: any other name.")
            if gpus:
                yield from _span_mistakes(path, queue, pools or {})
                yield from _gpu_mistakes(path, queue, gpus)


def _span_mistakes(path: str, queue: Queue, pools: Mapping[str, ResolvedPool]) -> Iterator[str]:
    """Yield what is wrong with the pools that a gang may span."""
    if not queue.pools:
        return
    if queue.pool is not None:
        yield Mistake(f"{path}.pools", " is beside `pool`; allowed: one of the two.")
    fitting = [name for name, pool in pools.items() if pool.gpus]
    for number, name in enumerate(queue.pools):
        if name not in fitting:
            allowed = f"a pool with GPUs ({', '.join(fitting) or 'there is none'})"
            yield wrong(f"{path}.pools[{number}]", name, allowed)
        elif name in queue.pools[:number]:
            yield wrong(f"{path}.pools[{number}]", name, "each pool once")
    if not any(pools[name].rented for name in queue.pools if name in pools):
        rented = [name for name, pool in pools.items() if pool.rented]
        yield wrong(
            f"{path}.pools",
            ", ".join(queue.pools),
            f"at least one pool of kind aws ({', '.join(rented) or 'there is none'})",
        )


def _gpu_mistakes(path: str, queue: Queue, gpus: Mapping[str, int]) -> Iterator[str]:
    """Yield a pool without GPUs, and more GPUs than the queue's pool, or all pools, have."""
    if queue.pool is not None and not gpus.get(queue.pool):
        fitting = ", ".join(name for name, count in gpus.items() if count) or "there is none"
        allowed = f"a pool with GPUs ({fitting})"
        if queue.pool in gpus:
            yield wrong(f"{path}.pool", queue.pool, allowed)
        else:
            yield Mistake(
                f"{path}.pool",
                f' is "{queue.pool}", which is not in {PROJECT}:pools; allowed: '
                f"{allowed}, or no `pool` for jobs that run on any. The queue keeps its namespace "
                "and its jobs when its pool changes.",
            )
        return
    if queue.pools:
        most = sum(gpus.get(pool, 0) for pool in set(queue.pools))
    else:
        most = sum(gpus.values()) if queue.pool is None else gpus[queue.pool]
    if queue.gpus > most:
        several = f"pools {' and '.join(queue.pools)}" if queue.pools else "all pools"
        of = several if queue.pool is None else f"pool {queue.pool}"
        yield wrong(f"{path}.gpus", queue.gpus, f"at most the {most} GPUs of {of}")
