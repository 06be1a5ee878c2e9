"""The alerts on GPUs that nobody asks for, and on pods that do not use theirs."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from components.platform.monitoring.alert_parts import NODE, OLD_POD, POD, YOUNG_POD
from components.platform.monitoring.usage import ACTIVE_RATIO, WINDOW_MINUTES
from policies.configuration import ConfiguredRule
from policies.language.rule import Alert
from policies.rules.idle import gpu_node_pool, job_deadline

GRACE_MINUTES = 15
"""Karpenter drains a node and ends its machine within this, and a program ends itself."""
_OWNER = "* on (namespace, pod) group_left (team, cost_centre, branch) pod:fleet_labels:info"
_ASKED = (
    """{{ with printf "pod:gpu_requested:sum{namespace='%s',pod='%s'}" """
    "$labels.namespace $labels.pod | query }}{{ . | first | value }}{{ end }}"
)


@dataclass(frozen=True, kw_only=True)
class IdleLimits:
    """The minutes that GPUs may idle, as an environment sets the rules which these alerts watch.

    `node_minutes` is for a node that no pod uses: max_consolidate_after_minutes of the rule
    idle/gpu-node-pool. `job_minutes` is for GPUs that a pod holds: max_idle_minutes of the rule
    idle/job-deadline.
    """

    node_minutes: int
    job_minutes: int

    @classmethod
    def of(cls, rules: Iterable[ConfiguredRule]) -> "IdleLimits":
        """Takes the limits from the settings of all rules."""
        settings = {each.rule.id: each.settings for each in rules}
        return cls(
            node_minutes=cast("int", settings[gpu_node_pool.ID]["max_consolidate_after_minutes"]),
            job_minutes=cast("int", settings[job_deadline.ID]["max_idle_minutes"]),
        )

    @property
    def seen_minutes(self) -> int:
        """The idle minutes of a job that an alert can tell: never fewer than those measured."""
        return max(self.job_minutes, WINDOW_MINUTES)


def idle_alerts(limits: IdleLimits) -> tuple[Alert, ...]:
    """Return the alerts on idle GPUs, which wait as long as `limits` allow."""
    return (*_idle_nodes(limits), _idle_pod(limits), FEW_OF_ITS_GPUS)


def _idle_nodes(limits: IdleLimits) -> tuple[Alert, ...]:
    return (
        Alert(
            name="GpuNodeIdle",
            expression="node:gpus:count unless on (node) pod:gpu_requested:sum",
            lasts_minutes=limits.node_minutes + GRACE_MINUTES,
            severity="warning",
            summary=f"Nobody asks for the {{{{ $value }}}} GPUs of node {NODE}",
            why="A GPU node that no pod uses costs as much as a busy one.",
            runbook=(
                "Rented: kubectl describe its NodeClaim says why Karpenter keeps it (a pod that "
                "must not be disrupted, a budget). Owned: see whether pods wait that may not use "
                "this pool."
            ),
        ),
        Alert(
            name="GpuNodeAllocatedButIdle",
            expression=f"""
                sum by (node, pool) (pod:gpus_held:sum) and on (node) node:gpus_active:sum == 0
                unless on (node) (pod:gpu_requested:sum {YOUNG_POD})
            """,
            # of no rule's setting: each new pod of the node starts the wait anew, so that with a
            # long one nobody would hear of a node whose pods come and go
            lasts_minutes=GRACE_MINUTES,
            severity="warning",
            summary=(
                f"Pods hold {{{{ $value | humanize }}}} GPUs of node {NODE} and none has worked "
                f"for {WINDOW_MINUTES} minutes"
            ),
            why=(
                "Held GPUs are neither used nor given back, and Karpenter cannot remove their node."
            ),
            runbook="List the node's pods, ask their teams, and stop what nobody waits for.",
        ),
    )


def _idle_pod(limits: IdleLimits) -> Alert:
    return Alert(
        name="GpuPodIdle",
        expression=f"""
            (pod:gpu_unused:count and on (namespace, pod) pod:gpu_active:count == 0)
            {_OWNER}
            {OLD_POD}
        """,
        lasts_minutes=limits.seen_minutes - WINDOW_MINUTES + GRACE_MINUTES,
        severity="warning",
        summary=(
            f"{POD} of team {{{{ $labels.team }}}} holds {{{{ $value }}}} GPUs and has used none "
            f"for {limits.seen_minutes} minutes"
        ),
        why=f"None of its GPUs worked for {ACTIVE_RATIO:.0%} of the time; others wait for them.",
        runbook=(
            "Look for a process that hangs, waits for data or has ended (kubectl logs, py-spy "
            "dump); a notebook that is open for nothing goes back to the queue."
        ),
    )


FEW_OF_ITS_GPUS = Alert(
    name="GpuPodUsesFewOfItsGpus",
    expression=f"""
        (pod:gpu_active:count > 0 and on (namespace, pod) pod:gpu_unused:count > 0)
        {_OWNER}
        {OLD_POD}
    """,
    lasts_minutes=WINDOW_MINUTES,
    severity="warning",
    summary=(
        f"{POD} of team {{{{ $labels.team }}}} uses {{{{ $value }}}} of the {_ASKED} GPUs "
        "that it asked for"
    ),
    why="The mean over a pod hides this: one busy GPU of eight costs what eight cost.",
    runbook=(
        "Look at CUDA_VISIBLE_DEVICES, the launcher's processes per node and device_map; ask "
        "for as many GPUs as the program starts ranks."
    ),
)
