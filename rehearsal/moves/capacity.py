"""For how long pools had fewer GPUs than their queues deserve, and more machines than needed."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from hardware.catalogue import HardwareError, load
from rehearsal.karpenter.machines import RENTED
from rehearsal.moves.machines import is_ready, takes_pods
from rehearsal.moves.result import Shortage
from rehearsal.moves.watch import Seen
from settings import Settings
from settings.names import GPU, HARDWARE_LABEL, POOL_LABEL

QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
Timeline = Sequence[tuple[float, Mapping[str, dict[str, Any]]]]
"""Times, each with the Nodes by name from then on."""


def shortages(
    seen: Sequence[Seen], deserved: Mapping[str, int], settings: Settings, ends_s: float
) -> tuple[Shortage, ...]:
    """Return the pools that had less than their queues deserve, or than they had at first.

    `deserved` is `spec.deserved` of the Queues, by name. A machine that is cordoned, or emptied by
    Karpenter, gives a queue nothing.
    """
    line = _timeline(seen)
    if not line:
        return ()
    found = []
    for pool, resolved in settings.pools.items():
        queues = {
            name: queue
            for team in settings.teams.values()
            for name, queue in team.queues.items()
            if queue.pool == pool
        }
        had = _gpus(line[0][1], pool)
        held = min(had, sum(deserved.get(name, 0) for name in queues))
        spans = [(till - at, _gpus(nodes, pool)) for at, till, nodes in _spans(line, ends_s)]
        seconds = sum(span for span, gpus in spans if gpus < held)
        if seconds > 0:
            least = min(gpus for _, gpus in spans)
            title, rounded = resolved.title, round(seconds, 1)
            found.append(Shortage(pool=title, held=held, least=least, seconds=rounded))
    return tuple(found)


def usd_of_twice(seen: Sequence[Seen], ends_s: float) -> float:
    """Return the price of machines of a pool beyond the most that it had before or has after.

    What Karpenter rents is left out: `rented.usd_of_twice_rented` knows it from the instances.
    """
    line = _timeline([each for each in seen if not _is_rented(each)])
    if not line:
        return 0.0
    first, last = _counts(line[0][1]), _counts(line[-1][1])
    usd = 0.0
    for at, till, nodes in _spans(line, ends_s):
        for key, number in _counts(nodes).items():
            more = number - max(first[key], last[key])
            usd += max(0, more) * (till - at) / 3600 * (_usd_per_hour(key[1]) or 0.0)
    return round(usd, 2)


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


def _gpus(nodes: Mapping[str, dict[str, Any]], pool: str) -> int:
    return sum(
        int((node.get("status") or {}).get("allocatable", {}).get(GPU, 0))
        for node in nodes.values()
        if (node["metadata"].get("labels") or {}).get(POOL_LABEL) == pool
        and is_ready(node.get("status") or {})
        and takes_pods(node)
    )


def _counts(nodes: Mapping[str, dict[str, Any]]) -> Counter[tuple[str, str]]:
    """Count the machines by pool and hardware."""
    labels = [node["metadata"].get("labels") or {} for node in nodes.values()]
    return Counter((each.get(POOL_LABEL, ""), each.get(HARDWARE_LABEL, "")) for each in labels)


def _usd_per_hour(hardware: str) -> float | None:
    try:
        return load(hardware).usd_per_hour
    except HardwareError:
        return None
