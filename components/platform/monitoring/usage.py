"""Recording rules on the GPUs that pods ask for and on how far they use them.

Two units. A *device* is what Kubernetes hands out: a GPU, a MIG instance, a time slice. A *GPU* is
a whole one: a pod's GPUs are its share of what its node offers, with MIG instances weighed by their
compute slices, times the GPUs that the machine has. So seven 1g instances, four time slices of one
GPU and one whole GPU are one GPU each, and cost the same.

A pod is judged only when each of its devices was measured for long enough: a gap in the scrapes or
a pod that has just started is no verdict. Nor is a time-sliced GPU: the exporter names one of its
pods, at each scrape another, as the kubelet happens to list them. Its node is judged all the same.
"""

from components.platform.monitoring import promql
from components.platform.monitoring.dcgm import SCRAPE_SECONDS
from policies.gates.prometheus_rule import Recording

WINDOW_MINUTES = 30
"""Shorter windows take data loading and checkpoints for idleness."""
ACTIVE_RATIO = 0.05
"""A GPU whose engine was busy for a smaller share of the window is idle."""
ENOUGH_SAMPLES = WINDOW_MINUTES * 60 // SCRAPE_SECONDS // 3
"""A third of the window: a restarted exporter leaves two series, neither with half of it."""
UNMAPPED_SHARING = "time-slicing|mps"
"""`fleet.gpu/sharing` of nodes on which the exporter cannot say whose a GPU is."""
_SHARING = promql.shown(promql.NODE_LABELS["sharing"])
UNMAPPED = f'kube_node_labels{{{_SHARING}=~"{UNMAPPED_SHARING}"}}'

_REQUESTS = f'kube_pod_container_resource_requests{{resource=~"{promql.GPU_RESOURCES}"}}'
_DEVICE = ", ".join((promql.NODE, *promql.DEVICE))
# series exist for pods of every phase, and one for each phase that a pod is not in
_PHASE = 'and on (namespace, pod) kube_pod_status_phase{{phase="{phase}"}} == 1'
_RUNNING = _PHASE.format(phase="Running")
_PENDING = _PHASE.format(phase="Pending")


def _mean(metric: str) -> str:
    window = f"{metric}[{WINDOW_MINUTES}m]"
    held = promql.moved(
        f"max by ({_DEVICE}, {', '.join(promql.WORKLOAD.values())}) (\n"
        f"  avg_over_time({window}) and count_over_time({window}) >= {ENOUGH_SAMPLES}\n)",
        promql.WORKLOAD,
        by=(promql.NODE, *promql.DEVICE),
    )
    return f"{held}\nunless on (node) {UNMAPPED}"


def _mean_of_all(metric: str) -> str:
    """The mean whoever held the device: if it changed hands, each series may be too short."""
    total, samples = (
        f"sum by ({_DEVICE}) ({each}_over_time({metric}[{WINDOW_MINUTES}m]))"
        for each in ("sum", "count")
    )
    return f"{total}\n/ {samples}\nand {samples} >= {ENOUGH_SAMPLES}"


MEASURED = (
    Recording(
        name="gpu:gr_engine_active:avg30m",
        expression=_mean(promql.GR_ENGINE_ACTIVE),
        why="Share of 30 minutes in which a device worked; `pod` is who held it, if anyone did.",
    ),
    Recording(
        name="gpu:sm_active:avg30m",
        expression=_mean(promql.SM_ACTIVE),
        why="Share of its multiprocessors that a device kept busy; one small kernel keeps few.",
    ),
    Recording(
        name="gpu:tensor_active:avg30m",
        expression=_mean(promql.TENSOR_ACTIVE),
        why="Share of cycles in which a device's tensor cores worked: what training pays for.",
    ),
    Recording(
        name="device:gr_engine_active:avg30m",
        expression=_mean_of_all(promql.GR_ENGINE_ACTIVE),
        why="Share of 30 minutes in which a device worked for anyone.",
    ),
    Recording(
        name="gpu:sevenths:count",
        expression=promql.in_sevenths(
            "GPU_I_PROFILE",
            promql.PROFILE_SEVENTHS,
            lambda kind: f"group by ({_DEVICE}) (device:gr_engine_active:avg30m{{{kind}}})",
        ),
        why="How much of a GPU a device is.",
    ),
    Recording(
        name="node:gpu_active:ratio",
        expression=f"""
            sum by (node) (
              gpu:sevenths:count and on ({_DEVICE}) device:gr_engine_active:avg30m > {ACTIVE_RATIO}
              or 0 * gpu:sevenths:count
            ) / sum by (node) (gpu:sevenths:count)
        """,
        why="Share of a node's GPUs that worked, whoever holds them: time-sliced ones count too.",
    ),
    Recording(
        name="pod:gpu_measured:count",
        expression='count by (namespace, pod) (gpu:gr_engine_active:avg30m{pod!=""})',
        why="Devices of a pod of which the exporter told enough for a verdict.",
    ),
    Recording(
        name="pod:gpu_active:count",
        expression=f"""
            count by (namespace, pod) (gpu:gr_engine_active:avg30m{{pod!=""}} > {ACTIVE_RATIO})
            or 0 * pod:gpu_measured:count
        """,
        why="Devices of a pod that worked; the second line because a count of nothing is no zero.",
    ),
)

ASKED = (
    Recording(
        name="pod:gpu_requested:sum",
        expression=f"sum by (namespace, pod, node) ({_REQUESTS})\n{_RUNNING}",
        why="Devices that a running pod asked for.",
    ),
    Recording(
        name="pod:gpu_unused:count",
        expression="""
            pod:gpu_requested:sum - on (namespace, pod) group_left () pod:gpu_active:count
            and on (namespace, pod)
              pod:gpu_measured:count
              >= on (namespace, pod) sum by (namespace, pod) (pod:gpu_requested:sum)
        """,
        why="Devices that a pod asked for and did not use, where all of them were measured.",
    ),
    Recording(
        name="pod:fleet_labels:info",
        expression="label_replace(\n"
        + promql.moved(
            f"kube_pod_labels and on (namespace, pod) {_REQUESTS}",
            {ours: promql.shown(label) for ours, label in promql.POD_LABELS.items()},
            by=("namespace", "pod"),
        )
        + f', "team", "{promql.UNLABELLED}", "team", "")\n'
        + "or on (namespace, pod) label_replace(\n"
        + f'group by (namespace, pod) ({_REQUESTS}), "team", "{promql.UNLABELLED}", "", "")',
        why="Who answers for a pod that asks for GPUs: never empty, or its cost would vanish.",
    ),
    Recording(
        name="pod:gpu_waiting:sum",
        expression=f"(sum by (namespace, pod) ({_REQUESTS})\n{_PENDING})\n"
        "* on (namespace, pod) group_left (team, cost_centre, branch) pod:fleet_labels:info",
        why="Devices that a pod waits for.",
    ),
)

HELD = (
    Recording(
        name="node:gpus:count",
        expression=promql.moved(
            "kube_node_labels",
            {ours: promql.shown(label) for ours, label in promql.NODE_LABELS.items()},
            by=("node",),
        )
        + "\n* on (pool) group_left () pool:gpus_per_node:count",
        why="GPUs of a machine by the catalogue: they cost money even while a driver is down.",
    ),
    Recording(
        name="node:gpus_active:sum",
        expression="node:gpus:count * on (node) group_left () node:gpu_active:ratio",
        why="GPUs of a node that worked.",
    ),
    Recording(
        name="node:gpu_sevenths:sum",
        expression="sum by (node) (\n"
        + promql.in_sevenths(
            "resource",
            promql.RESOURCE_SEVENTHS,
            lambda kind: f"kube_node_status_capacity{{{kind}}}",
        )
        + "\n)",
        why="What a node offers: its capacity, so nobody pays for a neighbour's broken GPU.",
    ),
    Recording(
        name="pod:gpu_sevenths:sum",
        expression="sum by (namespace, pod, node) (\n"
        + promql.in_sevenths(
            "resource",
            promql.RESOURCE_SEVENTHS,
            lambda kind: f"kube_pod_container_resource_requests{{{kind}}}",
        )
        + f"\n)\n{_RUNNING}",
        why="What a running pod holds of it.",
    ),
    Recording(
        name="pod:gpus_held:sum",
        expression="""
            pod:gpu_sevenths:sum / on (node) group_left () node:gpu_sevenths:sum
            * on (node) group_left (pool, sharing) node:gpus:count
            * on (namespace, pod) group_left (team, cost_centre, branch) pod:fleet_labels:info
        """,
        why="GPUs that a running pod keeps from others.",
    ),
    Recording(
        name="pod:gpus_idle:sum",
        expression="""
            pod:gpus_held:sum * on (namespace, pod) group_left ()
              (pod:gpu_unused:count / on (namespace, pod) pod:gpu_requested:sum)
        """,
        why="GPUs that a pod holds and does not use.",
    ),
    Recording(
        name="pod:gpus_active:sum",
        expression="pod:gpus_held:sum - pod:gpus_idle:sum",
        why="GPUs that a pod holds and uses.",
    ),
)
