"""The PromQL that the rules share: the names that exporters write, and expressions used twice.

The one decision here is `HONOR_LABELS`. The DCGM exporter and the scrape both have a `pod` and a
`namespace`: the workload's and the exporter's own. Without honouring, Prometheus calls the
workload's `exported_pod` and `exported_namespace`, and a GPU that nobody holds has none; with
honouring, it would look as if the exporter's pod held that GPU. The first rule on a DCGM series
renames them, so that recorded series say `pod` and `namespace` as kube-state-metrics does.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from settings.names import POOL_LABEL, PREFIX

HONOR_LABELS = False
"""The `honorLabels` of the exporter's ServiceMonitor; the names below follow from it."""

WORKLOAD = {
    "namespace": "namespace" if HONOR_LABELS else "exported_namespace",
    "pod": "pod" if HONOR_LABELS else "exported_pod",
}
"""Our label -> the label of a scraped DCGM series."""

NODE = "node"
"""The Kubernetes node: kube-state-metrics writes it, the ServiceMonitor adds it to DCGM series."""
NUMA_SCRAPE_NODE = "kubernetes_node"
"""The same on node exporter series, whose own `node` is the number of a NUMA node."""

DEVICE = ("gpu", "UUID", "GPU_I_ID", "GPU_I_PROFILE")
"""A GPU or MIG instance within a node; instances share the UUID of their GPU."""

GR_ENGINE_ACTIVE = "DCGM_FI_PROF_GR_ENGINE_ACTIVE"
SM_ACTIVE = "DCGM_FI_PROF_SM_ACTIVE"
TENSOR_ACTIVE = "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"
TEMPERATURE = "DCGM_FI_DEV_GPU_TEMP"
"""There whenever the exporter and the GPU are, also while a profiler holds the counters."""
LAST_XID = "DCGM_FI_DEV_XID_ERRORS"
"""A gauge with the code of the last XID: it stays until the next one."""
XID_COUNT = "DCGM_EXP_XID_ERRORS_COUNT"
"""XIDs of the last five minutes by code (label `xid`): a later one does not hide an earlier one."""

GPU_RESOURCES = "nvidia_com_(gpu|gpu_shared|mig_.+)"
"""nvidia.com/gpu, as which time slices go too unless they are renamed, and MIG, as
kube-state-metrics spells resource names."""

POD_LABELS = {
    "team": f"{PREFIX}/team",
    "cost_centre": f"{PREFIX}/cost-centre",
    "branch": f"{PREFIX}/branch",
}
"""Our label -> the Kubernetes label of a pod, which kube-state-metrics must be told to show."""
NODE_LABELS = {"pool": POOL_LABEL, "sharing": f"{PREFIX}/sharing"}
"""The same for nodes."""
UNLABELLED = "unlabelled"
"""The team of pods that name none: their cost must not vanish."""

PROFILE_SEVENTHS = {"": 7, "1g.*": 1, "2g.*": 2, "3g.*": 3, "4g.*": 4, "7g.*": 7}
"""Compute slices of a MIG profile (a GPU has seven) by pattern of its name; none is a whole GPU."""

RESOURCE_SEVENTHS = {
    "nvidia_com_gpu(_shared)?": 7,
    **{f"nvidia_com_mig_{slices}g_.+": slices for slices in (1, 2, 3, 4, 7)},
}
"""The same by pattern of a resource name as kube-state-metrics spells it."""


def sanitised(name: str) -> str:
    """Spells a Kubernetes name as kube-state-metrics does: `nvidia.com/gpu` -> `nvidia_com_gpu`."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", name)


def shown(label: str) -> str:
    """Returns the label of `kube_pod_labels` or `kube_node_labels` for a Kubernetes label."""
    snake = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", sanitised(label))
    return f"label_{snake.lower()}"


def moved(expr: str, labels: Mapping[str, str], *, by: Iterable[str] = ()) -> str:
    """Returns `expr` with labels renamed; of its other labels only those of `by` stay.

    `labels` is new name -> old name. Series that differ only in a label that is overwritten would
    clash, so `expr` must not carry a new name for anything else: aggregate it first.
    """
    for new, old in labels.items():
        expr = f'label_replace({expr}, "{new}", "$1", "{old}", "(.*)")'
    return f"max by ({', '.join((*by, *labels))}) (\n{expr}\n)"


def in_sevenths(label: str, sevenths: Mapping[str, int], term: Callable[[str], str]) -> str:
    """Returns `term(matcher)` for each kind of GPU, times its sevenths of a GPU, joined by `or`."""
    matchers = {f'{label}=~"{pattern}"': weight for pattern, weight in sevenths.items()}
    return "\nor ".join(f"{weight} * {term(matcher)}" for matcher, weight in matchers.items())
