"""The alerts on machines: errors of their GPUs, NUMA misses, and what fleet-node-check finds.

That reaches Prometheus through node exporter's textfile collector, which shows the last file for
ever: the alerts look at its time.
"""

from collections.abc import Mapping

from components.platform.monitoring import promql
from components.platform.monitoring.alert_parts import POD, READY_NODE
from components.platform.monitoring.health import HARDWARE_XIDS, JOB_XIDS, codes
from components.platform.monitoring.usage import UNMAPPED
from policies.language.rule import Alert
from workloads.node_check.program import INTERVAL_S

NUMA_MISS_LIMIT = 0.001
"""A tuned node has next to none: a pod gets CPUs and memory of one NUMA node, or of all."""
CHECKS_MISSED = 4
"""So many in a row: a pod that is replaced, or an API server that is away, misses one or two."""
_XID = "node, gpu, UUID, xid"
_JOB_XIDS = f'{promql.XID_COUNT}{{xid=~"{codes(JOB_XIDS)}"}} > 0'
_POOL = promql.shown(promql.NODE_LABELS["pool"])


def _listed(xids: Mapping[int, str]) -> str:
    return "; ".join(f"{code} {meaning}" for code, meaning in xids.items())


def _drift(level: str) -> str:
    """Counts findings by node and check, of checks that still run."""
    found = f'max by (check, {promql.NUMA_SCRAPE_NODE}) (fleet_node_check_drift{{level="{level}"}})'
    here = promql.moved(found, {"node": promql.NUMA_SCRAPE_NODE}, by=("check",))
    return f"{here} > 0 and on (node) {_fresh()}"


def _fresh() -> str:
    """Selects nodes whose last check is no older than a few intervals."""
    checked = f"max by ({promql.NUMA_SCRAPE_NODE}) (fleet_node_check_timestamp_seconds)"
    at = promql.moved(checked, {"node": promql.NUMA_SCRAPE_NODE})
    return f"(time() - {at} < {CHECKS_MISSED * INTERVAL_S})"


HEALTH = (
    Alert(
        name="GpuHardwareXid",
        # a code that another one followed (48, then 45 for each process) is seen for minutes only
        expression=f'max_over_time(gpu:xid:seen{{xid=~"{codes(HARDWARE_XIDS)}"}}[1h])',
        lasts_minutes=0,
        severity="critical",
        summary=("GPU {{ $labels.gpu }} of node {{ $labels.node }} reported XID {{ $labels.xid }}"),
        why=f"The GPU cannot be trusted before a reset: {_listed(HARDWARE_XIDS)}.",
        runbook=(
            "Cordon and drain the node; reset the GPU (nvidia-smi --gpu-reset) or restart the "
            "machine. If the code comes back, run dcgmi diag -r 3 and have the part replaced. The "
            "alert ends an hour after the last report, whether somebody looked or not."
        ),
    ),
    Alert(
        name="GpuJobXid",
        # of a GPU that several pods share, the exporter names any one of them
        expression=promql.moved(
            f"max by ({_XID}, {', '.join(promql.WORKLOAD.values())}) ({_JOB_XIDS})",
            promql.WORKLOAD,
            by=_XID.split(", "),
        )
        + f"\nunless on (node) {UNMAPPED}\n"
        + f"or max by ({_XID}) ({_JOB_XIDS}) and on (node) {UNMAPPED}",
        lasts_minutes=0,
        severity="info",
        summary=(
            f"{{{{ if $labels.pod }}}}{POD}{{{{ else }}}}A job{{{{ end }}}} on GPU "
            "{{ $labels.gpu }} of node {{ $labels.node }} got XID {{ $labels.xid }}"
        ),
        why=f"The job's own error, its GPU is fine: {_listed(JOB_XIDS)}.",
        runbook=(
            "Read the job's log; run it with CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer. The same "
            "code for different jobs on one GPU points at the GPU."
        ),
    ),
)

NODES = (
    Alert(
        name="NumaMisses",
        expression=f"node:numa_miss:ratio15m > {NUMA_MISS_LIMIT}",
        lasts_minutes=0,
        severity="warning",
        summary=(
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
        expression=_drift("critical"),
        lasts_minutes=INTERVAL_S // 60,
        severity="critical",
        summary=(
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
        expression=_drift("warning"),
        lasts_minutes=2 * INTERVAL_S // 60,
        severity="warning",
        summary=(
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
        expression=f"""
            group by (node) (kube_node_labels{{{_POOL}!=""}}) unless on (node) {_fresh()}
            {READY_NODE}
        """,
        lasts_minutes=15,
        severity="warning",
        summary="Nobody knows whether node {{ $labels.node }} is as planned",
        why="Its check does not run or cannot write, so drift is neither told nor tainted.",
        runbook=(
            "See the pod of fleet-node-check on the node and its log, and whether the node has the "
            "label fleet.gpu/numa-plan and the file /etc/fleet/plan.json."
        ),
    ),
)
