"""Who goes first: the priority classes of the fleet's work.

Within a queue a job of a higher class takes the machines of jobs of lower ones (Volcano's action
preempt). Between queues the classes count for nothing: there weights do (reclaim).
"""

import pulumi
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs
from pulumi_kubernetes.scheduling.v1 import PriorityClass

from settings.names import HIGHEST_PRIORITY

# name: value, whether it may evict others, what it is for
CLASSES = {
    "production": (HIGHEST_PRIORITY, True, "What the desks trade on"),
    "research": (100_000, True, "Training and backtests that somebody waits for"),
    "interactive": (10_000, True, "Notebooks and short trials"),
    # below the 0 of a pod without a class: it keeps only what nobody else in its queue wants
    "scavenger": (-1_000, False, "Work that may be evicted at any time"),
}


class PriorityClasses(pulumi.ComponentResource):
    """production > research > interactive > scavenger; none is given to a pod that names none."""

    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpu:platform:PriorityClasses", name, None, opts)
        for priority, (value, evicts, description) in CLASSES.items():
            PriorityClass(
                f"{name}-{priority}",
                metadata=ObjectMetaArgs(name=priority),
                value=value,
                global_default=False,
                preemption_policy="PreemptLowerPriority" if evicts else "Never",
                description=description,
                opts=pulumi.ResourceOptions(parent=self),
            )
        self.register_outputs({})
