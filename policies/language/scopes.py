"""Where objects of a kind stand, and the API group that a kind's bare name means in an exemption.

`Deployment/old` is one of the group `apps`. An exemption names a kind of another group as kubectl
does: `Job.batch.volcano.sh/train`.
"""

from policies.language.pod_kinds import SHIPPED

_OF_PODS = {each.kind: each.group for each in reversed(SHIPPED)}
_IN_NAMESPACES = {
    **{kind: group for kind, group in _OF_PODS.items() if not kind.startswith("Cluster")},
    **dict.fromkeys(("ConfigMap", "Endpoints", "LimitRange", "PersistentVolumeClaim"), ""),
    **dict.fromkeys(("Secret", "Service"), ""),
    **dict.fromkeys(("Role", "RoleBinding"), "rbac.authorization.k8s.io"),
    **dict.fromkeys(("Ingress", "NetworkPolicy"), "networking.k8s.io"),
    "CiliumNetworkPolicy": "cilium.io",
    "PodGroup": "scheduling.volcano.sh",
    **dict.fromkeys(("ResourceClaim", "ResourceClaimTemplate"), "resource.k8s.io"),
    "InferenceService": "serving.kserve.io",
    "SparkApplication": "sparkoperator.k8s.io",
}
GROUPS = {**_OF_PODS, **_IN_NAMESPACES}
"""The group that the bare name of a kind means; other kinds are taken of any group."""
NAMESPACED = tuple(sorted(_IN_NAMESPACES))
"""Kinds whose objects stand in a namespace: their names alone do not say which are meant."""
KNOWN = frozenset(
    (
        *GROUPS,
        *("ClusterRole", "ClusterRoleBinding", "Namespace", "Node", "PersistentVolume"),
        *("CiliumClusterwideNetworkPolicy", "DeviceClass", "PriorityClass", "StorageClass"),
        *("EC2NodeClass", "NodePool", "Queue"),
        # of Pulumi, by the last word of the type
        *("AwsGpuPool", "BareMetalPool", "HetznerPool", "Release", "Server", "Bucket", "Policy"),
        *("RolePolicy", "BareMetalHost"),
    )
)
"""Kinds that rules speak of."""


def kind_and_group(resource: str) -> tuple[str, str | None]:
    """The kind in front of the name of an exempt object, and its group; None for any group.

    A Pulumi type stays as it is.
    """
    kind = resource.partition("/")[0]
    if ":" in resource:
        return kind, None
    bare, _, group = kind.partition(".")
    return (bare, group) if group else (bare, GROUPS.get(bare))
