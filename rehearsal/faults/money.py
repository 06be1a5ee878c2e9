"""What a fault costs: work that is done again, and machines that are paid while nothing runs.

A machine costs what its kind of capacity does: on demand, spot or reserved. Where the catalogue has
no price of one, the sum is not known.
"""

from collections.abc import Iterable, Sequence

from hardware.catalogue import HardwareError, load
from rehearsal.faults.scene import Clock
from rehearsal.faults.work import Gang, Now
from rehearsal.karpenter.instances import Instance
from rehearsal.moves.lost import usd_per_gpu_hour
from rehearsal.moves.result import ASSUMED_HOURS
from settings.names import CAPACITY_LABEL, HARDWARE_LABEL, POOL_LABEL

HOUR_S = 3600


def gpu_hours(gang: Gang) -> float:
    """Return the GPU-hours that a gang does again; nobody knows how old a gang of the twin is."""
    return round(gang.job.gpus * ASSUMED_HOURS, 1)


def usd_of_work(gang: Gang, before: Now) -> float | None:
    """Return what those GPU-hours cost on the nodes on which the gang ran before the fault."""
    pods = gang.pods(before)
    hours = gpu_hours(gang) / max(len(pods), 1)
    labels = (_labels(before, str(pod["spec"].get("nodeName", ""))) for pod in pods)
    return _sum((usd_per_gpu_hour(each), hours) for each in labels)


def usd_of_rented(
    gang: Gang,
    rented: Sequence[Instance],
    clock: Clock,
    epoch: float,
    window: tuple[float, float],
) -> float | None:
    """Return what the machines of a gang's pool cost between two moments of the watch.

    The watch began at `epoch`, and the rehearsal runs nothing else in the pool of a gang that
    rents.
    """
    begin_s, end_s = window
    parts: list[tuple[float | None, float]] = []
    for each in rented:
        first = max(begin_s, each.launched - epoch)
        last = min(end_s, end_s if each.ended is None else each.ended - epoch)
        if each.tags.get(POOL_LABEL) == gang.job.pool and last > first:
            price = _price(each.type, each.capacity)
            parts.append((price, clock.between(first, last) / HOUR_S))
    return _sum(parts)


def usd_of_owned(
    gang: Gang, before: Now, clock: Clock, window: tuple[float, float]
) -> float | None:
    """Return the same of the owned machines on which a gang ran, at the catalogue's price."""
    hours = clock.between(*window) / HOUR_S
    labels = (_labels(before, node) for node in gang.nodes(before))
    return _sum(
        (_price(each.get(HARDWARE_LABEL, ""), each.get(CAPACITY_LABEL)), hours) for each in labels
    )


def _sum(parts: Iterable[tuple[float | None, float]]) -> float | None:
    """Return the sum of prices by hours; None where a price is not known."""
    total = 0.0
    for price, hours in parts:
        if price is None:
            return None
        total += price * hours
    return round(total, 2)


def _labels(now: Now, node: str) -> dict[str, str]:
    return dict(now["Node"].get(node, {}).get("metadata", {}).get("labels") or {})


def _price(hardware: str, capacity: str | None) -> float | None:
    try:
        return load(hardware).usd_per_hour_as(capacity)
    except HardwareError:
        return None
