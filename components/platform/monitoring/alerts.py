"""The alerts: what must not go on unseen, each with its reason and the first thing to do.

An alert that cannot judge stays silent, so the last part says where judging is impossible.
"""

from collections.abc import Mapping

from components.platform.monitoring import names
from components.platform.monitoring.cost import BRANCH_DAYS
from components.platform.monitoring.health import HARDWARE_XIDS, JOB_XIDS, codes
from components.platform.monitoring.nodes import NODES
from components.platform.monitoring.promql import moved
from components.platform.monitoring.rules import Alert
from components.platform.monitoring.usage import (
    ACTIVE_RATIO,
    UNMAPPED,
    UNMAPPED_SHARING,
    WINDOW_MINUTES,
)

BRANCH_USD_LIMIT = 100
"""A backtest that has cost more wants a look before it goes on."""

_AGE = "and on (namespace, pod) time() - max by (namespace, pod) (kube_pod_start_time)"
_OLD = f"{_AGE} > {WINDOW_MINUTES * 60}"
_YOUNG = f"{_AGE} <= {WINDOW_MINUTES * 60}"
_OWNER = "* on (namespace, pod) group_left (team, cost_centre, branch) pod:fleet_labels:info"
_READY = 'and on (node) kube_node_status_condition{condition="Ready", status="true"} == 1'
_XID = "node, gpu, UUID, xid"
_JOB_XIDS = f'{names.XID_COUNT}{{xid=~"{codes(JOB_XIDS)}"}} > 0'
_POD = "{{ $labels.namespace }}/{{ $labels.pod }}"
_NODE = "{{ $labels.node }} ({{ $labels.pool }})"
_ASKED = (
    """{{ with printf "pod:gpu_requested:sum{namespace='%s',pod='%s'}" """
    "$labels.namespace $labels.pod | query }}{{ . | first | value }}{{ end }}"
)


def _listed(xids: Mapping[int, str]) -> str:
    return "; ".join(f"{code} {meaning}" for code, meaning in xids.items())


IDLE = (
    Alert(
        name="GpuNodeIdle",
        expr="node:gpus:count unless on (node) pod:gpu_requested:sum",
        for_minutes=WINDOW_MINUTES,
        severity="warning",
        sentence=f"Nobody asks for the {{{{ $value }}}} GPUs of node {_NODE}",
        why="A GPU node that no pod uses costs as much as a busy one.",
        runbook=(
            "Rented: kubectl describe its NodeClaim says why Karpenter keeps it (a pod that must "
            "not be disrupted, a budget). Owned: see whether pods wait that may not use this pool."
        ),
    ),
    Alert(
        name="GpuNodeAllocatedButIdle",
        expr=f"""
            sum by (node, pool) (pod:gpus_held:sum) and on (node) node:gpus_active:sum == 0
            unless on (node) (pod:gpu_requested:sum {_YOUNG})
        """,
        for_minutes=15,
        severity="warning",
        sentence=(
            f"Pods hold {{{{ $value | humanize }}}} GPUs of node {_NODE} and none has worked for "
            "half an hour"
        ),
        why="Held GPUs are neither used nor given back, and Karpenter cannot remove their node.",
        runbook="List the node's pods, ask their teams, and stop what nobody waits for.",
    ),
    Alert(
        name="GpuPodIdle",
        expr=f"""
            (pod:gpu_unused:count and on (namespace, pod) pod:gpu_active:count == 0)
            {_OWNER}
            {_OLD}
        """,
        for_minutes=15,
        severity="warning",
        sentence=(
            f"{_POD} of team {{{{ $labels.team }}}} holds {{{{ $value }}}} GPUs and has used none "
            "for half an hour"
        ),
        why=f"None of its GPUs worked for {ACTIVE_RATIO:.0%} of the time; others wait for them.",
        runbook=(
            "Look for a process that hangs, waits for data or has ended (kubectl logs, py-spy "
            "dump); a notebook that is open for nothing goes back to the queue."
        ),
    ),
    Alert(
        name="GpuPodUsesFewOfItsGpus",
        expr=f"""
            (pod:gpu_active:count > 0 and on (namespace, pod) pod:gpu_unused:count > 0)
            {_OWNER}
            {_OLD}
        """,
        for_minutes=WINDOW_MINUTES,
        severity="warning",
        sentence=(
            f"{_POD} of team {{{{ $labels.team }}}} uses {{{{ $value }}}} of the {_ASKED} GPUs "
            "that it asked for"
        ),
        why="The mean over a pod hides this: one busy GPU of eight costs what eight cost.",
        runbook=(
            "Look at CUDA_VISIBLE_DEVICES, the launcher's processes per node and device_map; ask "
            "for as many GPUs as the program starts ranks."
        ),
    ),
)

COST = (
    Alert(
        name="BranchCostOverLimit",
        # without the second half a backtest that ended would go on alarming for 30 days
        expr=f"""
            branch:gpu_usd:sum30d{{branch=~"bt-.+"}} > {BRANCH_USD_LIMIT}
            and on (branch) max_over_time(branch:gpu_usd_per_hour:sum[1h]) > 0
        """,
        for_minutes=0,
        severity="warning",
        sentence=(
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
        expr=f'max_over_time(gpu:xid:seen{{xid=~"{codes(HARDWARE_XIDS)}"}}[1h])',
        for_minutes=0,
        severity="critical",
        sentence=(
            "GPU {{ $labels.gpu }} of node {{ $labels.node }} reported XID {{ $labels.xid }}"
        ),
        why=f"The GPU cannot be trusted before a reset: {_listed(HARDWARE_XIDS)}.",
        runbook=(
            "Cordon and drain the node; reset the GPU (nvidia-smi --gpu-reset) or restart the "
            "machine, then the node's nvidia-dcgm-exporter pod, which keeps the last code. If the "
            "code comes back, run dcgmi diag -r 3 and have the part replaced."
        ),
    ),
    Alert(
        name="GpuJobXid",
        # of a GPU that several pods share, the exporter names any one of them
        expr=moved(
            f"max by ({_XID}, {', '.join(names.WORKLOAD.values())}) ({_JOB_XIDS})",
            names.WORKLOAD,
            by=_XID.split(", "),
        )
        + f"\nunless on (node) {UNMAPPED}\n"
        + f"or max by ({_XID}) ({_JOB_XIDS}) and on (node) {UNMAPPED}",
        for_minutes=0,
        severity="info",
        sentence=(
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

BLIND = (
    Alert(
        name="GpuExporterMissing",
        expr=f"""
            node:gpus:count unless on (node) {names.GR_ENGINE_ACTIVE}
            {_READY}
        """,
        for_minutes=15,
        severity="critical",
        sentence=f"Nothing is known of the GPUs of node {_NODE}",
        why="Without the DCGM exporter every other alert on these GPUs is silent.",
        runbook=(
            "See the pods nvidia-dcgm-exporter and nvidia-operator-validator of the node: a driver "
            "that did not load or a missing Fabric Manager keeps both from starting."
        ),
    ),
    Alert(
        name="NumaExporterMissing",
        expr=f"""
            node:gpus:count unless on (node) node:numa_miss:ratio5m
            {_READY}
        """,
        for_minutes=15,
        severity="warning",
        sentence=f"Nothing is known of the NUMA nodes of node {_NODE}",
        why="Its node exporter runs without the collector meminfo_numa, or not at all.",
        runbook="See the node exporter's pod on the node and its arguments.",
    ),
    Alert(
        name="GpuPodNotMeasured",
        expr=f"""
            pod:gpu_requested:sum unless on (namespace, pod) pod:gpu_unused:count
            and on (node) node:gpus:count{{sharing!~"{UNMAPPED_SHARING}"}}
            {_OLD}
        """,
        for_minutes=WINDOW_MINUTES,
        severity="info",
        sentence=f"It is not known whether {_POD} uses its {{{{ $value }}}} GPUs",
        why="The exporter does not say of each of them whose it is, so no alert judges the pod.",
        runbook=(
            "See whether the node's nvidia-dcgm-exporter reads the kubelet's pod resources, and "
            "whether GPUs are shared on a node whose label fleet.gpu/sharing does not say so."
        ),
    ),
    Alert(
        name="GpuNodeWithoutPool",
        expr=f"""
            sum by (node) (kube_node_status_capacity{{resource=~"{names.GPU_RESOURCES}"}}) > 0
            unless on (node) node:gpus:count
        """,
        for_minutes=15,
        severity="warning",
        sentence="Node {{ $labels.node }} has GPUs and belongs to no GPU pool of the program",
        why="Its cost is counted nowhere, and whether it idles is not asked.",
        runbook=(
            "Compare its label fleet.gpu/pool with the pools of the stack. If all GPU nodes are "
            "reported, kube-state-metrics does not show the label (metricLabelsAllowlist)."
        ),
    ),
)

ALERTS = IDLE + COST + HEALTH + NODES + BLIND
