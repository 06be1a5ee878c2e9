"""The rights of a service account of ours: a role, and its binding to the account."""

from collections.abc import Sequence

import pulumi
from pulumi_kubernetes.core.v1 import ServiceAccount
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs
from pulumi_kubernetes.rbac.v1 import (
    ClusterRole,
    ClusterRoleBinding,
    PolicyRuleArgsDict,
    Role,
    RoleBinding,
    RoleRefArgsDict,
    SubjectArgsDict,
)


def grant(
    name: str,
    metadata: ObjectMetaArgs,
    rules: Sequence[PolicyRuleArgsDict],
    account: ServiceAccount,
    opts: pulumi.ResourceOptions,
) -> None:
    """Give the account the rights in the namespace of `metadata`; without one, in the cluster."""
    subject: SubjectArgsDict = {
        "kind": "ServiceAccount",
        "name": account.metadata["name"],
        "namespace": account.metadata["namespace"],
    }
    everywhere = metadata.namespace is None
    role = (ClusterRole if everywhere else Role)(name, metadata=metadata, rules=rules, opts=opts)
    reference: RoleRefArgsDict = {
        "api_group": "rbac.authorization.k8s.io",
        "kind": "ClusterRole" if everywhere else "Role",
        "name": role.metadata["name"],
    }
    (ClusterRoleBinding if everywhere else RoleBinding)(
        f"{name}-binding", metadata=metadata, role_ref=reference, subjects=[subject], opts=opts
    )
