"""What the people of a team may do in the cluster: work in the namespaces of their own queues.

It is a role of ours and not Kubernetes' `edit`, to which charts add what they like, and by which a
team could delete the NetworkPolicy of its namespace. Left out on purpose:

- what bounds the team or the platform: NetworkPolicies, ResourceQuotas, and PodDisruptionBudgets,
  of which one that allows nothing stops the drain of a machine for ever;
- DaemonSets, which put a pod on every machine of the pool;
- Services, which may rent a load balancer, or take the ingress over by its name; operators make
  those that jobs need;
- Roles and service accounts: who may do what stands in the stack file;
- Volcano's Commands: its queue controller takes one from any namespace and closes any queue
  (v1.14.1, pkg/controllers/queue/queue_controller.go, handleCommand).

What they make is held to the rules like everything else. The kinds of Kubeflow, Argo and Ray are
there for clusters that have them.
"""

from collections.abc import Collection, Mapping

import pulumi
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs
from pulumi_kubernetes.rbac.v1 import ClusterRole, PolicyRuleArgsDict, RoleBinding, SubjectArgsDict

NAME = "fleet-team"
_SEE = ("get", "list", "watch")
_MAKE = (*_SEE, "create", "update", "patch", "delete", "deletecollection")
_ENTER = ("get", "create")  # a client asks by the one or the other, as its protocol wants

MADE: Mapping[str, tuple[str, ...]] = {
    "": ("pods", "configmaps", "secrets", "persistentvolumeclaims"),
    "apps": ("deployments", "deployments/scale", "statefulsets", "statefulsets/scale"),
    "autoscaling": ("horizontalpodautoscalers",),
    "batch": ("jobs", "cronjobs"),
    "batch.volcano.sh": ("jobs", "cronjobs"),
    "scheduling.volcano.sh": ("podgroups",),
    "kubeflow.org": ("pytorchjobs", "tfjobs", "mpijobs", "xgboostjobs", "jaxjobs", "notebooks"),
    "argoproj.io": ("workflows", "workflowtemplates", "cronworkflows"),
    "ray.io": ("rayclusters", "rayjobs", "rayservices"),
}
SEEN: Mapping[str, tuple[str, ...]] = {
    "": ("pods/log", "events", "limitranges", "resourcequotas", "serviceaccounts", "services"),
    "apps": ("replicasets",),
    "events.k8s.io": ("events",),
    "networking.k8s.io": ("networkpolicies",),
    "policy": ("poddisruptionbudgets",),
}
ENTERED: Mapping[str, tuple[str, ...]] = {"": ("pods/exec", "pods/attach", "pods/portforward")}


def team_role(name: str, opts: pulumi.ResourceOptions) -> ClusterRole:
    """Register the rights, which are nobody's until a RoleBinding gives them in its namespace."""
    return ClusterRole(f"{name}-role", metadata=ObjectMetaArgs(name=NAME), rules=rules(), opts=opts)


def team_access(
    name: str,
    namespace: pulumi.Input[str],
    groups: Collection[str],
    role: ClusterRole,
    opts: pulumi.ResourceOptions,
) -> None:
    """Register the rights of a team's groups in a namespace."""
    api_group = "rbac.authorization.k8s.io"
    people: list[SubjectArgsDict] = [
        {"kind": "Group", "api_group": api_group, "name": group} for group in groups
    ]
    RoleBinding(
        f"{name}-people",
        metadata=ObjectMetaArgs(name=NAME, namespace=namespace),
        role_ref={
            "api_group": api_group,
            "kind": "ClusterRole",
            "name": role.metadata["name"],
        },
        subjects=people,
        opts=opts,
    )


def rules() -> list[PolicyRuleArgsDict]:
    """Return the rules of the role."""
    return [
        {"api_groups": [group], "resources": list(resources), "verbs": list(verbs)}
        for verbs, held in ((_MAKE, MADE), (_SEE, SEEN), (_ENTER, ENTERED))
        for group, resources in held.items()
    ]
