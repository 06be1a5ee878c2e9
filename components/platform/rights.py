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

Rules = Sequence[PolicyRuleArgsDict]


def grant_in_cluster(
    name: str,
    metadata: ObjectMetaArgs,
    rules: Rules,
    account: ServiceAccount,
    opts: pulumi.ResourceOptions,
) -> None:
    """Give the account the rights in all namespaces, and on what is in none."""
    role = ClusterRole(name, metadata=metadata, rules=rules, opts=opts)
    ClusterRoleBinding(
        f"{name}-binding",
        metadata=metadata,
        role_ref=_reference("ClusterRole", role),
        subjects=[_subject(account)],
        opts=opts,
    )


def grant_in_namespace(
    name: str,
    metadata: ObjectMetaArgs,
    rules: Rules,
    account: ServiceAccount,
    opts: pulumi.ResourceOptions,
) -> None:
    """Give the account the rights in the namespace of `metadata`."""
    role = Role(name, metadata=metadata, rules=rules, opts=opts)
    RoleBinding(
        f"{name}-binding",
        metadata=metadata,
        role_ref=_reference("Role", role),
        subjects=[_subject(account)],
        opts=opts,
    )


def _reference(kind: str, role: ClusterRole | Role) -> RoleRefArgsDict:
    return {
        "api_group": "rbac.authorization.k8s.io",
        "kind": kind,
        "name": role.metadata["name"],
    }


def _subject(account: ServiceAccount) -> SubjectArgsDict:
    return {
        "kind": "ServiceAccount",
        "name": account.metadata["name"],
        "namespace": account.metadata["namespace"],
    }
