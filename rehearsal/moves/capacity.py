"""For how long pools had fewer GPUs than their queues deserve, and more machines than needed."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from hardware.catalogue import HardwareError, load
from rehearsal.karpenter.machines import RENTED
from rehearsal.moves.gpu_parts import gpus_on
from rehearsal.moves.machines import is_ready, takes_pods
from rehearsal.moves.result import Shortage
from rehearsal.moves.watch import Seen
from settings import Queue, Settings
from settings.names import GPU, HARDWARE_LABEL, POOL_LABEL

QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
Timeline = Sequence[tuple[float, Mapping[str, dict[str, Any]]]]
"""Times, each with the Nodes by name from then on."""
Hours = Mapping[tuple[str, str], float]
"""Hours of machines by hardware and capacity, which is empty for what nobody rents."""


@dataclass(frozen=True, kw_only=True)
class Shares:
    """The settings of a stack, and `spec.deserved` of its Queues: whole GPUs by name."""

    settings: Settings
    deserved: Mapping[str, int]


def shortages(
    seen: Sequence[Seen], before: Shares, after: Shares, ends_s: float
) -> tuple[Shortage, ...]:
    """Return the pools that had less than their queues deserve, or than they had at first.

    A pool that the change removes is held to what its queues deserved before. A machine that is
    cordoned, or emptied by Karpenter, gives a queue nothing. Instances of MIG and shares are parts
    of their GPU.
    """
    line = _timeline(seen)
    if not line:
        return ()
    found = []
    had = {pool: _gpus(line[0][1], pool) for pool in _pools(before, after)}
    for pool, (of, title) in _pools(before, after).items():
        held = int(min(had[pool], _deserved(pool, of, had)))
        spans = [(till - at, _gpus(nodes, pool)) for at, till, nodes in _spans(line, ends_s)]
        seconds = sum(span for span, gpus in spans if gpus < held)
        if seconds > 0:
            least, rounded = int(min(gpus for _, gpus in spans)), round(seconds, 1)
            found.append(Shortage(pool=title, held=held, least=least, seconds=rounded))
    return tuple(found)


def _pools(before: Shares, after: Shares) -> dict[str, tuple[Shares, str]]:
    """Return each pool with what it is held to, and its title."""
    return {
        name: (of, pool.title) for of in (before, after) for name, pool in of.settings.pools.items()
    }


def _deserved(pool: str, of: Shares, had: Mapping[str, Fraction]) -> Fraction:
    """Return the GPUs of a pool that its queues deserve.

    A queue of several pools has of each the part that the pool has of their GPUs.
    """
    total = Fraction()
    for team in of.settings.teams.values():
        for name, queue in team.queues.items():
            several = _pools_of(queue, of.settings)
            gpus = sum((had.get(each, Fraction()) for each in several), Fraction())
            if pool in several and gpus:
                total += Fraction(of.deserved.get(name, 0)) * had[pool] / gpus
    return total


def _pools_of(queue: Queue, settings: Settings) -> list[str]:
    """Return the pools that a queue has a part of: of several the owned ones, if there are any."""
    of_it = {
        name: pool
        for name, pool in settings.pools.items()
        if name in queue.pools or (not queue.pools and queue.pool in (None, name))
    }
    return [name for name, pool in of_it.items() if not pool.rented] or [*of_it]


def twice(seen: Sequence[Seen], ends_s: float) -> Hours:
    """Return the machines of pools beyond the most that each had before or has after.

    What Karpenter rents is left out: `rented.twice_rented` knows it from the instances.
    """
    found: defaultdict[tuple[str, str], float] = defaultdict(float)
    line = _timeline([each for each in seen if not _is_rented(each)])
    if not line:
        return found
    first, last = _counts(line[0][1]), _counts(line[-1][1])
    for at, till, nodes in _spans(line, ends_s):
        for key, number in _counts(nodes).items():
            more = max(0, number - max(first[key], last[key]))
            found[key[1], ""] += more * (till - at) / 3600
    return found


def price_of(*hours: Hours) -> tuple[float, tuple[str, ...]]:
    """Return the USD of such hours, and the hardware of those whose price is not known."""
    usd, unknown = 0.0, set()
    for (hardware, capacity), number in (item for each in hours for item in each.items()):
        price = _usd_per_hour(hardware, capacity)
        if price is None and number:
            unknown.add(hardware)
        usd += number * (price or 0.0)
    return round(usd, 2), tuple(sorted(unknown))


def deserved_gpus(queues: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the GPUs that each Queue deserves."""
    return {
        queue["metadata"]["name"]: int((queue["spec"].get("deserved") or {}).get(GPU, 0))
        for queue in queues
    }


def _is_rented(each: Seen) -> bool:
    return each.kind == "Node" and each.found["spec"].get("providerID", "").startswith(RENTED)


def _timeline(seen: Sequence[Seen]) -> list[tuple[float, dict[str, dict[str, Any]]]]:
    nodes: dict[str, dict[str, Any]] = {}
    line = []
    for each in (one for one in seen if one.kind == "Node"):
        nodes = {name: node for name, node in nodes.items() if name != each.key or not each.gone}
        if not each.gone:
            nodes[each.key] = each.found
        if each.first:
            line = [(each.at_s, nodes)]
        else:
            line.append((each.at_s, nodes))
    return line


def _spans(line: Timeline, ends_s: float) -> list[tuple[float, float, Mapping[str, Any]]]:
    ends = [*line, (max(ends_s, line[-1][0]), {})]
    return [(at, till, nodes) for (at, nodes), (till, _) in pairwise(ends)]


def _gpus(nodes: Mapping[str, dict[str, Any]], pool: str) -> Fraction:
    of_pool = (
        gpus_on(node)
        for node in nodes.values()
        if (node["metadata"].get("labels") or {}).get(POOL_LABEL) == pool
        and is_ready(node.get("status") or {})
        and takes_pods(node)
    )
    return sum(of_pool, Fraction())


def _counts(nodes: Mapping[str, dict[str, Any]]) -> Counter[tuple[str, str]]:
    """Count the machines by pool and hardware."""
    labels = [node["metadata"].get("labels") or {} for node in nodes.values()]
    return Counter((each.get(POOL_LABEL, ""), each.get(HARDWARE_LABEL, "")) for each in labels)


def _usd_per_hour(hardware: str, capacity: str) -> float | None:
    try:
        return load(hardware).usd_per_hour_as(capacity)
    except HardwareError:
        return None
