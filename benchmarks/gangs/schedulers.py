"""The schedulers of the matrix, and those that cannot be in it."""

from benchmarks.gangs.kueue import KUEUE, KUEUE_BLOCKING
from benchmarks.gangs.native import KUBERNETES, NATIVE, PLAIN
from benchmarks.gangs.scheduler import Scheduler
from benchmarks.gangs.volcano import VOLCANO

SCHEDULERS: dict[str, Scheduler] = {
    each.name: each for each in (VOLCANO, KUEUE, KUEUE_BLOCKING, NATIVE, PLAIN)
}

ABSENT = {
    "KAI Scheduler": "not built: on 2026-11-23 proxy.golang.org answered 403 Forbidden for every "
    "version of github.com/NVIDIA/KAI-scheduler and github.com/kai-scheduler/KAI-scheduler"
}
"""Schedulers that the toolchain cannot build, with the reason."""


def kubernetes_of(scheduler: Scheduler) -> str:
    """Return the version of Kubernetes beside which a scheduler runs."""
    return KUBERNETES[scheduler.control_plane]
