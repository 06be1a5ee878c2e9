"""The names that the parts of the fleet share: namespaces, labels, resources, type tokens."""

from collections.abc import Mapping
from typing import Literal

PROJECT = "gpu-fleet"
"""The namespace of the configuration keys, and the name of the Pulumi project."""

GPU = "nvidia.com/gpu"
"""The extended resource of whole GPUs, and the key of the taint of nodes with GPUs."""

PREFIX = "fleet.gpu"
POOL_LABEL = f"{PREFIX}/pool"
HARDWARE_LABEL = f"{PREFIX}/hardware"
PURPOSE_LABEL = f"{PREFIX}/purpose"
SITE_LABEL = f"{PREFIX}/site"
NUMA_PLAN_LABEL = f"{PREFIX}/numa-plan"
SHARING_LABEL = f"{PREFIX}/sharing"
TEAM_LABEL = f"{PREFIX}/team"
RESERVED_UNTIL = f"{PREFIX}/reserved-until"
CAPACITY_LABEL = "karpenter.sh/capacity-type"
INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"

# Pulumi's type tokens of resources that are machines, or make them
SERVER = "hcloud:index/server:Server"
BARE_METAL_HOST = "kubernetes:metal3.io/v1alpha1:BareMetalHost"
NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
RELEASE = "kubernetes:helm.sh/v3:Release"

KUBE_SYSTEM = "kube-system"
ACCEPTANCE_NAMESPACE = "fleet-acceptance"
GPU_OPERATOR_NAMESPACE = "gpu-operator"
KURED_NAMESPACE = "kured"
LAKEFS_NAMESPACE = "lakefs"
MONITORING_NAMESPACE = "monitoring"
NODE_CHECK_NAMESPACE = "fleet-node-check"
VOLCANO_NAMESPACE = "volcano-system"

Guard = Literal["host-access", "image-digest", "network-policy"]
"""An isolation rule that some system namespaces are exempt from."""

SYSTEM_NAMESPACES: Mapping[str, tuple[Guard, ...]] = {
    "cilium-secrets": (),
    "default": (),
    ACCEPTANCE_NAMESPACE: ("host-access", "image-digest"),
    NODE_CHECK_NAMESPACE: ("host-access", "network-policy"),
    GPU_OPERATOR_NAMESPACE: ("host-access", "image-digest", "network-policy"),
    KUBE_SYSTEM: ("host-access", "image-digest", "network-policy"),
    KURED_NAMESPACE: ("host-access", "image-digest", "network-policy"),
    LAKEFS_NAMESPACE: ("image-digest", "network-policy"),
    MONITORING_NAMESPACE: ("host-access", "image-digest", "network-policy"),
    VOLCANO_NAMESPACE: ("image-digest", "network-policy"),
}
"""The namespaces of the cluster and of this program, each with the rules that its pods may break.

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


def tags(cluster: str, labelled: Mapping[str, str]) -> dict[str, str]:
    """Return the tags of a cloud resource, with the cluster: an account may hold several."""
    return {f"{PREFIX}/cluster": cluster, **labelled}
