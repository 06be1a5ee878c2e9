"""The GPUs that each queue deserves: it may take so many back from queues that hold too many.

The GPUs of a pool are shared by the weights of its own queues, whether anybody asks for them now or
not. Were they shared by what is asked for, over all pools, then a gang that waits for rented
machines would have a share of the owned ones, which it may not use: they would stand idle.
"""

from collections.abc import Collection, Mapping
from fractions import Fraction

from settings.types import Queue


def deserved(
    queues: Mapping[str, Queue], pools: Mapping[str, int], rented: Collection[str]
) -> dict[str, int]:
    """Returns whole GPUs by queue, at most its bound; `pools` has the most GPUs of each pool.

    A queue without a pool has its part of every owned one, and rents beyond that; of the rented
    ones only where nothing is owned. One with several has the same of those.
    """
    owned = [pool for pool in pools if pool not in rented]
    sums = dict.fromkeys(queues, Fraction(0))
    for pool, gpus in pools.items():
        here = {
            name: queue
            for name, queue in queues.items()
            if pool in _deserving(queue, list(pools), owned)
        }
        for name, share in _by_weight(gpus, here).items():
            sums[name] += share
    return {name: min(int(sums[name]), queue.gpus) for name, queue in queues.items()}


def _deserving(queue: Queue, pools: list[str], owned: list[str]) -> list[str]:
    """Returns the pools of which a queue has a part: of several the owned ones, if any is."""
    if queue.pool is not None:
        return [queue.pool]
    several = [pool for pool in pools if pool in queue.pools or not queue.pools]
    return [pool for pool in several if pool in owned] or several


def _by_weight(gpus: int, queues: Mapping[str, Queue]) -> dict[str, Fraction]:
    """Divides a pool by weight; GPUs beyond a queue's bound go to the others."""
    shares: dict[str, Fraction] = {}
    left, others = Fraction(gpus), dict(queues)
    while True:
        weights = sum(queue.weight for queue in others.values())
        bounded = [
            name for name, queue in others.items() if queue.gpus * weights <= left * queue.weight
        ]
        if not bounded:
            return shares | {name: left * each.weight / weights for name, each in others.items()}
        for name in bounded:
            shares[name] = Fraction(others.pop(name).gpus)
            left -= shares[name]
