"""What a fault costs: work that is done again, and machines that are paid while nothing runs."""

from collections.abc import Sequence

from hardware.catalogue import HardwareError, load
from rehearsal.faults.scene import Clock
from rehearsal.faults.work import Gang
from rehearsal.karpenter.instances import Instance
from rehearsal.moves.result import ASSUMED_HOURS

HOUR_S = 3600


def gpu_hours(gang: Gang) -> float:
    """Return the GPU-hours that a gang does again; nobody knows how old a gang of the twin is."""
    return round(gang.job.gpus * ASSUMED_HOURS, 1)


def usd_of_work(gang: Gang, hardware: str) -> float:
    """Return what those GPU-hours cost; 0 where the catalogue has no price."""
    try:
        machine = load(hardware)
    except HardwareError:
        return 0.0
    price = machine.usd_per_hour or 0.0
    return round(gpu_hours(gang) * price / max(machine.gpu_count, 1), 2)


def usd_of_rented(
    rented: Sequence[Instance], clock: Clock, epoch: float, begin_s: float, end_s: float
) -> float:
    """Return what rented machines cost between two moments of the watch, which began at `epoch`."""
    total = 0.0
    for each in rented:
        first = max(begin_s, each.launched - epoch)
        last = min(end_s, end_s if each.ended is None else each.ended - epoch)
        if last > first:
            total += clock.between(first, last) / HOUR_S * _price(each.type)
    return round(total, 2)


def usd_of_owned(hardware: Sequence[str], clock: Clock, begin_s: float, end_s: float) -> float:
    """Return the same of owned machines, at the price that the catalogue gives them."""
    hours = clock.between(begin_s, end_s) / HOUR_S
    return round(sum(hours * _price(each) for each in hardware), 2)


def _price(hardware: str) -> float:
    try:
        return load(hardware).usd_per_hour or 0.0
    except HardwareError:
        return 0.0
