"""Alerts on machines that are not as planned: pages on the wrong NUMA node, and drift.

What fleet-node-check finds reaches Prometheus through node exporter's textfile collector, which
shows the last file for ever: an old one is told apart by its time.
"""

from components.platform.monitoring import names
from components.platform.monitoring.promql import moved
from components.platform.monitoring.rules import Alert
from workloads.node_check.program import INTERVAL_S

NUMA_MISS_LIMIT = 0.001
"""A tuned node has next to none: a pod gets CPUs and memory of one NUMA node, or of all."""
CHECKS_MISSED = 4
"""So many in a row: a pod that is replaced, or an API server that is away, misses one or two."""

_POOL = names.shown(names.NODE_LABELS["pool"])
_READY = 'and on (node) kube_node_status_condition{condition="Ready", status="true"} == 1'


def _drift(level: str) -> str:
    """Places by node and check; only from a check that still runs."""
    found = f'max by (check, {names.NUMA_SCRAPE_NODE}) (fleet_node_check_drift{{level="{level}"}})'
    here = moved(found, {"node": names.NUMA_SCRAPE_NODE}, by=("check",))
    return f"{here} > 0 and on (node) {_fresh()}"


def _fresh() -> str:
    """Nodes whose last check is no older than a few intervals."""
    checked = f"max by ({names.NUMA_SCRAPE_NODE}) (fleet_node_check_timestamp_seconds)"
    at = moved(checked, {"node": names.NUMA_SCRAPE_NODE})
    return f"(time() - {at} < {CHECKS_MISSED * INTERVAL_S})"


NODES = (
    Alert(
        name="NumaMisses",
        expr=f"node:numa_miss:ratio15m > {NUMA_MISS_LIMIT}",
        for_minutes=0,
        severity="warning",
        sentence=(
            "Node {{ $labels.node }} placed {{ $value | humanizePercentage }} of the new pages of "
            "15 minutes on another NUMA node than the one wanted"
        ),
        why="Memory of the other socket is slower for its CPUs, and for its GPUs.",
        runbook=(
            "See which NUMA node is full (node_memory_numa_MemFree) and which pod spans both; "
            "compare the kubelet's memory_manager_state with the plan (label fleet.gpu/numa-plan). "
            "Ranks of an 8-GPU pod belong beside their GPUs: start them with fleet-bind."
        ),
    ),
    Alert(
        name="NodeBroken",
        expr=_drift("critical"),
        for_minutes=INTERVAL_S // 60,
        severity="critical",
        sentence=(
            "Node {{ $labels.node }} must not work on; findings of its check {{ $labels.check }}: "
            "{{ $value }}"
        ),
        why="A GPU, its links or its driver are gone: jobs on the node hang or compute wrongly.",
        runbook=(
            "kubectl describe node says in the condition NodeDrift what was seen and what to do; "
            "the node is tainted already, so drain it and follow that sentence."
        ),
    ),
    Alert(
        name="NodeDrift",
        expr=_drift("warning"),
        for_minutes=2 * INTERVAL_S // 60,
        severity="warning",
        sentence=(
            "Node {{ $labels.node }} is not as planned; findings of its check "
            "{{ $labels.check }}: {{ $value }}"
        ),
        why="It is tainted and gets no new pods; those that run may be slower than paid for.",
        runbook=(
            "kubectl describe node says in the condition NodeDrift what was seen, what is expected "
            "and what to do; the taint goes with the next check after that."
        ),
    ),
    Alert(
        name="NodeCheckMissing",
        expr=f"""
            group by (node) (kube_node_labels{{{_POOL}!=""}}) unless on (node) {_fresh()}
            {_READY}
        """,
        for_minutes=15,
        severity="warning",
        sentence="Nobody knows whether node {{ $labels.node }} is as planned",
        why="Its check does not run or cannot write, so drift is neither told nor tainted.",
        runbook=(
            "See the pod of fleet-node-check on the node and its log, and whether the node has the "
            "label fleet.gpu/numa-plan and the file /etc/fleet/plan.json."
        ),
    ),
)
