"""The names that the parts of the fleet share: namespaces, labels, resources, type tokens."""

from collections.abc import Mapping
from typing import Literal

PROJECT = "gpu-fleet"
"""The namespace of the configuration keys, and the name of the Pulumi project."""

GPU = "nvidia.com/gpu"
"""The extended resource of whole GPUs, and the key of the taint of nodes with GPUs."""

PRIORITIES = ("production", "research", "interactive", "scavenger")
"""The priority classes that the fleet makes, the first one first."""

POD_SECURITY = "pod-security.kubernetes.io/enforce"
"""The label of a namespace by which the API server refuses pods (Pod Security admission)."""
RDMA_PREFIX, RDMA_NAME = "rdma", "rails"
RDMA_RESOURCE = f"{RDMA_PREFIX}/{RDMA_NAME}"
"""The extended resource of the InfiniBand or RoCE cards of owned machines."""
EFA_RESOURCE = "vpc.amazonaws.com/efa"
"""The extended resource of EFA interfaces, by which Karpenter and AWS's device plugin call them."""
HIGHEST_PRIORITY = 1_000_000
"""The value of the fleet's highest priority class, production."""
SCRATCH_CLASS = "scratch"
"""The storage class of directories on local NVMe drives."""
NCCL_CONFIG = "fleet-nccl"
"""The ConfigMap in a queue's namespace with the variables of its pool's network."""

PREFIX = "fleet.gpu"
POOL_LABEL = f"{PREFIX}/pool"
HARDWARE_LABEL = f"{PREFIX}/hardware"
PURPOSE_LABEL = f"{PREFIX}/purpose"
SITE_LABEL = f"{PREFIX}/site"
NUMA_PLAN_LABEL = f"{PREFIX}/numa-plan"
SHARING_LABEL = f"{PREFIX}/sharing"
NUMA_NODES_LABEL = f"{PREFIX}/numa-nodes"
NVSWITCH_LABEL = f"{PREFIX}/nvswitch"
RDMA_LABEL = f"{PREFIX}/rdma"
ZONE_LABEL = "topology.kubernetes.io/zone"
TEAM_LABEL = f"{PREFIX}/team"
BOOT_LABEL = f"{PREFIX}/boot"
PROGRAM_LABEL = f"{PREFIX}/program"
"""What a server of Hetzner was made from, as a digest; another one means another server."""
RESERVED_UNTIL = f"{PREFIX}/reserved-until"
CAPACITY_LABEL = "karpenter.sh/capacity-type"
INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"

# Pulumi's type tokens of resources that are machines, or make them
SERVER = "hcloud:index/server:Server"
BARE_METAL_HOST = "kubernetes:metal3.io/v1alpha1:BareMetalHost"
NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
NODE_DRAIN = "pulumi-python:dynamic/kube:NodeDrain"
NODE_READY = "pulumi-python:dynamic/kube:NodeReady"
HOST_DETACHED = "pulumi-python:dynamic/kube:HostDetached"
RELEASE = "kubernetes:helm.sh/v3:Release"

KUBE_SYSTEM = "kube-system"
ACCEPTANCE_NAMESPACE = "fleet-acceptance"
CERT_MANAGER_NAMESPACE = "cert-manager"
GPU_OPERATOR_NAMESPACE = "gpu-operator"
JOIN_TOKENS_NAMESPACE = "fleet-join-tokens"
KURED_NAMESPACE = "kured"
LAKEFS_NAMESPACE = "lakefs"
MONITORING_NAMESPACE = "monitoring"
NODE_CHECK_NAMESPACE = "fleet-node-check"
RDMA_NAMESPACE = "fleet-rdma"
SCRATCH_NAMESPACE = "fleet-scratch"
SCRATCH_PATH = "/scratch"
"""The folder of each machine in which the volumes of the class `scratch` lie."""
VOLCANO_NAMESPACE = "volcano-system"
GANG_BUFFER = "fleet-gang-buffer"
"""The program of ours that asks Karpenter for the machines of gangs, and its account."""

BURST_POOLS = "burst-pools.json"
"""The key of the ConfigMap with the join part of each pool whose machines Karpenter launches."""

Guard = Literal["host-access", "image-digest", "network-policy"]
"""An isolation rule that some system namespaces are exempt from."""

SYSTEM_NAMESPACES: Mapping[str, tuple[Guard, ...]] = {
    "baremetal-operator-system": ("host-access", "image-digest", "network-policy"),
    "cilium-secrets": (),
    CERT_MANAGER_NAMESPACE: ("image-digest", "network-policy"),
    "default": (),
    "ironic-standalone-operator-system": ("image-digest", "network-policy"),
    "metal3": ("host-access", "image-digest", "network-policy"),
    "network-operator": ("host-access", "image-digest", "network-policy"),
    "nvidia-network-operator": ("host-access", "image-digest", "network-policy"),
    ACCEPTANCE_NAMESPACE: ("host-access", "image-digest"),
    NODE_CHECK_NAMESPACE: ("host-access", "network-policy"),
    JOIN_TOKENS_NAMESPACE: (),
    GPU_OPERATOR_NAMESPACE: ("host-access", "image-digest", "network-policy"),
    "kube-node-lease": ("network-policy",),
    "kube-public": ("network-policy",),
    KUBE_SYSTEM: ("host-access", "image-digest", "network-policy"),
    KURED_NAMESPACE: ("host-access", "image-digest", "network-policy"),
    LAKEFS_NAMESPACE: ("image-digest", "network-policy"),
    MONITORING_NAMESPACE: ("host-access", "image-digest", "network-policy"),
    RDMA_NAMESPACE: ("host-access", "image-digest", "network-policy"),
    SCRATCH_NAMESPACE: ("host-access", "image-digest", "network-policy"),
    VOLCANO_NAMESPACE: ("image-digest", "network-policy"),
}
"""The namespaces of the cluster, of this program and of what it stands on, each with the rules that
its pods may break. The last are those that Metal3, its Ironic, cert-manager and NVIDIA's Network
Operator have in their own manifests; Ironic's pod has its host's network and capabilities.

Their images have tags because charts name them so; who may make something there is for RBAC to say.
"""
METAL3_PREFIX = "metal3-"
"""The namespace of a bare-metal pool's hosts is this and the name of the pool."""
_SYSTEM_PREFIXES = ("kube-", METAL3_PREFIX)


def exempt_from(guard: Guard) -> tuple[str, ...]:
    """Return the system namespaces whose pods may break a rule, in alphabetical order."""
    return tuple(sorted(name for name, guards in SYSTEM_NAMESPACES.items() if guard in guards))


def is_system_namespace(name: str) -> bool:
    """Return whether a namespace belongs to the cluster or to this program, and so to no team."""
    return name in SYSTEM_NAMESPACES or name.startswith(_SYSTEM_PREFIXES)


def labels(
    *,
    site: str | None = None,
    pool: str | None = None,
    hardware: str | None = None,
    purpose: str | None = None,
    numa_plan: str | None = None,
) -> dict[str, str]:
    """Return the `fleet.gpu/` labels of a node or an object, without those that do not apply."""
    given = {
        "site": site,
        "pool": pool,
        "hardware": hardware,
        "purpose": purpose,
        "numa-plan": numa_plan,
    }
    return {f"{PREFIX}/{key}": value for key, value in given.items() if value is not None}


def owner_labels(team: str, cost_centre: str) -> dict[str, str]:
    """Return the labels of what belongs to a team."""
    return {TEAM_LABEL: team, f"{PREFIX}/cost-centre": cost_centre}


CLUSTER_LABEL = f"{PREFIX}/cluster"
"""What a resource of a cloud belongs to: its account or project may have several clusters."""


def ingress_balancer(cluster: str) -> str:
    """Return the name of the cluster's load balancer at Hetzner, which can have no such label."""
    return f"{cluster}-ingress"


def tags(cluster: str, labelled: Mapping[str, str]) -> dict[str, str]:
    """Return the tags of a cloud resource, with the cluster."""
    return {CLUSTER_LABEL: cluster, **labelled}
