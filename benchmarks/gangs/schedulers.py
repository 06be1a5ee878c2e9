"""The schedulers of the matrix, and those that cannot be in it."""

from benchmarks.gangs.kueue import KUEUE, KUEUE_BLOCKING
from benchmarks.gangs.native import KUBERNETES, NATIVE, PLAIN
from benchmarks.gangs.scheduler import Scheduler
from benchmarks.gangs.volcano import VOLCANO, VOLCANO_BUFFER

SCHEDULERS: dict[str, Scheduler] = {
    each.name: each for each in (VOLCANO, VOLCANO_BUFFER, KUEUE, KUEUE_BLOCKING, NATIVE, PLAIN)
}

ABSENT = {
    "KAI Scheduler": "not built: no module proxy served it on 2026-11-23 (neither as "
    "github.com/NVIDIA/KAI-scheduler nor as github.com/kai-scheduler/KAI-scheduler)"
}
"""Schedulers that the toolchain cannot build, with the reason."""

FOUND = (
    (
        "Volcano 1.14.1 adds up what a gang's pods request before there is a pod "
        "(pkg/controllers/util/util.go). GPUs under `limits` alone do not count: a part of the "
        "gang that fits idle machines then keeps the rest from being rented. Name them under "
        "`requests` too; the fleet's admission does it for you."
    ),
    (
        "Kueue 0.19.2 has waitForPodsReady on, for 30 minutes and without blockAdmission "
        "(apis/config/v1beta2/defaults.go). It admits as much as the quota allows, whatever can be "
        "rented. What is not ready after those 30 minutes it evicts, and lets in again after a "
        "pause: here after 30 s."
    ),
    (
        "Kubernetes 1.37.0 fails for a gang while the cluster has no node at all "
        "(PodGroupPostFilter of dynamicresources.go), and Karpenter sees no pod to act for: a "
        "machine without GPUs has to be there."
    ),
    (
        "Karpenter 1.14.1 rents no spot machine of a type and zone for three minutes after AWS "
        "took one back there. A pool of one type and zone needs capacity of another kind to "
        "replace it."
    ),
)
"""What came up while the rows were measured, with the version that does it."""


def kubernetes_of(scheduler: Scheduler) -> str:
    """Return the version of Kubernetes beside which a scheduler runs."""
    return KUBERNETES[scheduler.control_plane]
