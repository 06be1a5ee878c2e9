"""The alerts of the fleet, and all its rules together. Each alert has a reason and a runbook.

An alert without data stays silent, so the group BLIND fires where data is missing. What
fleet-node-check finds reaches Prometheus through node exporter's textfile collector, which shows
the last file for ever: the alerts look at its time.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import cast

from components.platform.monitoring import promql
from components.platform.monitoring.cost import BRANCH_DAYS, COST_RECORDINGS, PoolGpus, catalogue
from components.platform.monitoring.health import (
    HARDWARE_XIDS,
    HEALTH_RECORDINGS,
    JOB_XIDS,
    codes,
)
from components.platform.monitoring.platform_alerts import PLATFORM
from components.platform.monitoring.support import VERSION_ENDS, support_ends
from components.platform.monitoring.usage import (
    ACTIVE_RATIO,
    ASKED,
    HELD,
    MEASURED,
    UNMAPPED,
    UNMAPPED_SHARING,
    WINDOW_MINUTES,
)
from policies.configuration import ConfiguredRule
from policies.gates.prometheus_rule import Group
from policies.language.rule import Alert
from policies.rules.idle import gpu_node_pool, job_deadline
from workloads.node_check.program import INTERVAL_S

GRACE_MINUTES = 15
"""Karpenter drains a node and ends its machine within this, and a program ends itself."""
BRANCH_USD_LIMIT = 100
"""A backtest that has cost more wants a look before it goes on."""
NUMA_MISS_LIMIT = 0.001
"""A tuned node has next to none: a pod gets CPUs and memory of one NUMA node, or of all."""
CHECKS_MISSED = 4
"""So many in a row: a pod that is replaced, or an API server that is away, misses one or two."""

_AGE = "and on (namespace, pod) time() - max by (namespace, pod) (kube_pod_start_time)"
_OLD = f"{_AGE} > {WINDOW_MINUTES * 60}"
_YOUNG = f"{_AGE} <= {WINDOW_MINUTES * 60}"
_OWNER = "* on (namespace, pod) group_left (team, cost_centre, branch) pod:fleet_labels:info"
_READY = 'and on (node) kube_node_status_condition{condition="Ready", status="true"} == 1'
_XID = "node, gpu, UUID, xid"
_JOB_XIDS = f'{promql.XID_COUNT}{{xid=~"{codes(JOB_XIDS)}"}} > 0'
_POD = "{{ $labels.namespace }}/{{ $labels.pod }}"
_NODE = "{{ $labels.node }} ({{ $labels.pool }})"
_ASKED = (
    """{{ with printf "pod:gpu_requested:sum{namespace='%s',pod='%s'}" """
    "$labels.namespace $labels.pod | query }}{{ . | first | value }}{{ end }}"
)
_POOL = promql.shown(promql.NODE_LABELS["pool"])


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


def groups(
    pools: Mapping[str, PoolGpus],
    limits: IdleLimits,
    ends: Mapping[str, date] = MappingProxyType({}),
) -> tuple[Group, ...]:
    """Returns all rules of the fleet in the order in which they build on each other.

    `pools` are the pools with GPUs by name, `ends` the last day of support of each version.
    """
    used = (*catalogue(pools), *MEASURED, *ASKED, *HELD, *COST_RECORDINGS)
    return (
        Group(name="fleet-gpu", rules=used),
        Group(name="fleet-health", rules=(*HEALTH_RECORDINGS, *support_ends(ends))),
        Group(name="fleet-alerts", rules=alerts(limits)),
    )


def alerts(limits: IdleLimits) -> tuple[Alert, ...]:
    """Returns the alerts; those on idle GPUs wait as long as `limits` allow."""
    return (
        *_idle_nodes(limits),
        _idle_pod(limits),
        FEW_OF_ITS_GPUS,
        *COST,
        *HEALTH,
        *NODES,
        *PLATFORM,
        VERSION_ENDS,
        *BLIND,
    )


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


def _idle_nodes(limits: IdleLimits) -> tuple[Alert, ...]:
    return (
        Alert(
            name="GpuNodeIdle",
            expression="node:gpus:count unless on (node) pod:gpu_requested:sum",
            lasts_minutes=limits.node_minutes + GRACE_MINUTES,
            severity="warning",
            summary=f"Nobody asks for the {{{{ $value }}}} GPUs of node {_NODE}",
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
                unless on (node) (pod:gpu_requested:sum {_YOUNG})
            """,
            # of no rule's setting: each new pod of the node starts the wait anew, so that with a
            # long one nobody would hear of a node whose pods come and go
            lasts_minutes=GRACE_MINUTES,
            severity="warning",
            summary=(
                f"Pods hold {{{{ $value | humanize }}}} GPUs of node {_NODE} and none has worked "
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
            {_OLD}
        """,
        lasts_minutes=limits.seen_minutes - WINDOW_MINUTES + GRACE_MINUTES,
        severity="warning",
        summary=(
            f"{_POD} of team {{{{ $labels.team }}}} holds {{{{ $value }}}} GPUs and has used none "
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
        {_OLD}
    """,
    lasts_minutes=WINDOW_MINUTES,
    severity="warning",
    summary=(
        f"{_POD} of team {{{{ $labels.team }}}} uses {{{{ $value }}}} of the {_ASKED} GPUs "
        "that it asked for"
    ),
    why="The mean over a pod hides this: one busy GPU of eight costs what eight cost.",
    runbook=(
        "Look at CUDA_VISIBLE_DEVICES, the launcher's processes per node and device_map; ask "
        "for as many GPUs as the program starts ranks."
    ),
)

COST = (
    Alert(
        name="BranchCostOverLimit",
        # without the second half a backtest that ended would go on alarming for 30 days
        expression=f"""
            branch:gpu_usd:sum30d{{branch=~"bt-.+"}} > {BRANCH_USD_LIMIT}
            and on (branch) max_over_time(branch:gpu_usd_per_hour:sum[1h]) > 0
        """,
        lasts_minutes=0,
        severity="warning",
        summary=(
            "Backtest {{ $labels.branch }} has cost {{ $value | humanize }} USD in GPUs within "
            f"{BRANCH_DAYS} days and goes on"
        ),
        why=f"A backtest stays below {BRANCH_USD_LIMIT} USD; a loop or a wrong grid does not.",
        runbook=(
            "Find its pods (kubectl get pods -A -l fleet.gpu/branch=BRANCH) and ask their team "
            "whether the result is worth it, else delete the job: its commits stay in the branch."
        ),
    ),
)

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
            f"{{{{ if $labels.pod }}}}{_POD}{{{{ else }}}}A job{{{{ end }}}} on GPU "
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
            {_READY}
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

BLIND = (
    Alert(
        name="GpuExporterMissing",
        expression=f"""
            node:gpus:count unless on (node) {promql.TEMPERATURE}
            {_READY}
        """,
        lasts_minutes=15,
        severity="critical",
        summary=f"Nothing is known of the GPUs of node {_NODE}",
        why="Without the DCGM exporter every other alert on these GPUs is silent.",
        runbook=(
            "See the pods nvidia-dcgm-exporter and nvidia-operator-validator of the node: a driver "
            "that did not load or a missing Fabric Manager keeps both from starting."
        ),
    ),
    Alert(
        name="GpuProfilingMissing",
        expression=f"""
            node:gpus:count and on (node) {promql.TEMPERATURE}
            unless on (node) {promql.GR_ENGINE_ACTIVE}
            {_READY}
        """,
        lasts_minutes=60,
        severity="warning",
        summary=f"Nobody knows whether the GPUs of node {_NODE} work",
        why="The exporter runs without the profiling counters, by which use is measured.",
        runbook=(
            "Somebody may hold them with Nsight Compute or `dcgmi profile --pause`: ask the team "
            "of the node's pods, and end it with `dcgmi profile --resume`."
        ),
    ),
    Alert(
        name="NumaExporterMissing",
        expression=f"""
            node:gpus:count unless on (node) node:numa_miss:ratio5m
            {_READY}
        """,
        lasts_minutes=15,
        severity="warning",
        summary=f"Nothing is known of the NUMA nodes of node {_NODE}",
        why="Its node exporter runs without the collector meminfo_numa, or not at all.",
        runbook="See the node exporter's pod on the node and its arguments.",
    ),
    Alert(
        name="GpuPodNotMeasured",
        expression=f"""
            pod:gpu_requested:sum unless on (namespace, pod) pod:gpu_unused:count
            and on (node) node:gpus:count{{sharing!~"{UNMAPPED_SHARING}"}}
            {_OLD}
        """,
        lasts_minutes=WINDOW_MINUTES,
        severity="info",
        summary=f"It is not known whether {_POD} uses its {{{{ $value }}}} GPUs",
        why="The exporter does not say of each of them whose it is, so no alert judges the pod.",
        runbook=(
            "See whether the node's nvidia-dcgm-exporter reads the kubelet's pod resources, and "
            "whether GPUs are shared on a node whose label fleet.gpu/sharing does not say so."
        ),
    ),
    Alert(
        name="GpuNodeWithoutPool",
        expression=f"""
            sum by (node) (kube_node_status_capacity{{resource=~"{promql.GPU_RESOURCES}"}}) > 0
            unless on (node) node:gpus:count
        """,
        lasts_minutes=15,
        severity="warning",
        summary="Node {{ $labels.node }} has GPUs and belongs to no GPU pool of the program",
        why="Its cost is counted nowhere, and whether it idles is not asked.",
        runbook=(
            "Compare its label fleet.gpu/pool with the pools of the stack. If all GPU nodes are "
            "reported, kube-state-metrics does not show the label (metricLabelsAllowlist)."
        ),
    ),
)
