"""Every name that the rules share with an exporter: labels, metrics, resources.

The one decision here is `HONOR_LABELS`. The DCGM exporter and the scrape both have a `pod` and a
`namespace`: the workload's and the exporter's own. Without honouring, Prometheus calls the
workload's `exported_pod` and `exported_namespace`, and a GPU that nobody holds has none; with
honouring, it would look as if the exporter's pod held that GPU. The first rule on a DCGM series
renames them, so that recorded series say `pod` and `namespace` as kube-state-metrics does.
"""

import re

from settings.names import PREFIX

HONOR_LABELS = False
"""What the exporter's ServiceMonitor says; everything below follows from it."""

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
NODE_LABELS = {"pool": f"{PREFIX}/pool", "sharing": f"{PREFIX}/sharing"}
"""The same for nodes."""
UNLABELLED = "unlabelled"
"""The team of pods that name none: their cost must not vanish."""


def sanitised(name: str) -> str:
    """A Kubernetes name as kube-state-metrics writes it: `nvidia.com/gpu` -> `nvidia_com_gpu`."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", name)


def shown(label: str) -> str:
    """The Prometheus label of a Kubernetes label on `kube_pod_labels` and `kube_node_labels`."""
    snake = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", sanitised(label))
    return f"label_{snake.lower()}"
