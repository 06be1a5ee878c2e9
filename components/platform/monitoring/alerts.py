"""The alerts of the fleet, and all its rules together. Each alert has a reason and a runbook.

An alert without data stays silent, so the group BLIND fires where data is missing.
"""

from collections.abc import Mapping
from datetime import date
from types import MappingProxyType

from components.platform.monitoring import promql
from components.platform.monitoring.alert_parts import NODE, OLD_POD, POD, READY_NODE
from components.platform.monitoring.cost import BRANCH_DAYS, COST_RECORDINGS, PoolGpus, catalogue
from components.platform.monitoring.health import HEALTH_RECORDINGS
from components.platform.monitoring.idle_alerts import IdleLimits, idle_alerts
from components.platform.monitoring.node_alerts import HEALTH, NODES
from components.platform.monitoring.platform_alerts import PLATFORM
from components.platform.monitoring.support import VERSION_ENDS, support_ends
from components.platform.monitoring.usage import (
    ASKED,
    HELD,
    MEASURED,
    UNMAPPED_SHARING,
    WINDOW_MINUTES,
)
from policies.gates.prometheus_rule import Group
from policies.language.rule import Alert

BRANCH_USD_LIMIT = 100
"""A backtest that has cost more wants a look before it goes on."""


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
        *idle_alerts(limits),
        *COST,
        *HEALTH,
        *NODES,
        *PLATFORM,
        VERSION_ENDS,
        *BLIND,
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

BLIND = (
    Alert(
        name="GpuExporterMissing",
        expression=f"""
            node:gpus:count unless on (node) {promql.TEMPERATURE}
            {READY_NODE}
        """,
        lasts_minutes=15,
        severity="critical",
        summary=f"Nothing is known of the GPUs of node {NODE}",
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
            {READY_NODE}
        """,
        lasts_minutes=60,
        severity="warning",
        summary=f"Nobody knows whether the GPUs of node {NODE} work",
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
            {READY_NODE}
        """,
        lasts_minutes=15,
        severity="warning",
        summary=f"Nothing is known of the NUMA nodes of node {NODE}",
        why="Its node exporter runs without the collector meminfo_numa, or not at all.",
        runbook="See the node exporter's pod on the node and its arguments.",
    ),
    Alert(
        name="GpuPodNotMeasured",
        expression=f"""
            pod:gpu_requested:sum unless on (namespace, pod) pod:gpu_unused:count
            and on (node) node:gpus:count{{sharing!~"{UNMAPPED_SHARING}"}}
            {OLD_POD}
        """,
        lasts_minutes=WINDOW_MINUTES,
        severity="info",
        summary=f"It is not known whether {POD} uses its {{{{ $value }}}} GPUs",
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
