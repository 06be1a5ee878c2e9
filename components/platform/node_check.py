"""fleet-node-check on every node that has a plan: one DaemonSet, and what it may do.

Its pods see the machine's file system read-only and run its nvidia-smi, for which they must be
privileged. In the API they may get and patch nodes; an admission policy keeps each to its own node,
the condition NodeDrift and the taint fleet.gpu/drift. Why so: docs/decisions/0011.
"""

import base64
import hashlib

import pulumi
from pulumi_kubernetes.admissionregistration.v1 import (
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
)
from pulumi_kubernetes.apps.v1 import DaemonSet
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace, ServiceAccount
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs
from pulumi_kubernetes.rbac.v1 import ClusterRole, ClusterRoleBinding, PolicyRuleArgsDict

from components.platform.node_check_pod import NAME, NAMESPACE, pod
from components.platform.node_check_policy import policy
from settings.names import PREFIX
from settings.versions import PYTHON_IMAGE
from workloads.node_check.program import FILE, program

RULES: list[PolicyRuleArgsDict] = [
    {"api_groups": [""], "resources": ["nodes"], "verbs": ["get", "patch"]},
    {"api_groups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
]


class NodeCheck(pulumi.ComponentResource):
    """The namespace, the program, the account with its limits, and the DaemonSet."""

    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpu:platform:NodeCheck", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        space = Namespace(
            f"{name}-namespace",
            metadata=ObjectMetaArgs(
                name=NAMESPACE, labels={"pod-security.kubernetes.io/enforce": "privileged"}
            ),
            opts=child,
        )
        content = program()
        digest = hashlib.sha256(content).hexdigest()[:8]
        code = ConfigMap(
            f"{name}-program",
            # another program is another name, so that the pods are replaced one after the other
            metadata=ObjectMetaArgs(name=f"{NAME}-{digest}", namespace=space.metadata.name),
            immutable=True,
            binary_data={FILE: base64.b64encode(content).decode()},
            opts=child,
        )
        account = ServiceAccount(
            f"{name}-account",
            metadata=ObjectMetaArgs(name=NAME, namespace=space.metadata.name),
            opts=child,
        )
        limits = self._limits(name, child)
        self._rights(name, account, child)
        labelled = {f"{PREFIX}/program": NAME}
        DaemonSet(
            f"{name}-pods",
            metadata=ObjectMetaArgs(name=NAME, namespace=space.metadata.name),
            spec={
                "selector": {"match_labels": labelled},
                "update_strategy": {"rolling_update": {"max_unavailable": "10%"}},
                "template": {
                    "metadata": {"labels": labelled},
                    "spec": pod(PYTHON_IMAGE, code.metadata["name"]),
                },
            },
            # a pod that came before its limits could write to any node
            opts=pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=limits)),
        )
        self.register_outputs({"digest": digest})

    def _limits(self, name: str, child: pulumi.ResourceOptions) -> list[pulumi.Resource]:
        limit = ValidatingAdmissionPolicy(
            f"{name}-policy", metadata=ObjectMetaArgs(name=NAME), spec=policy(), opts=child
        )
        binding = ValidatingAdmissionPolicyBinding(
            f"{name}-policy-binding",
            metadata=ObjectMetaArgs(name=NAME),
            spec={"policy_name": limit.metadata["name"], "validation_actions": ["Deny"]},
            opts=child,
        )
        return [limit, binding]

    def _rights(self, name: str, account: ServiceAccount, child: pulumi.ResourceOptions) -> None:
        role = ClusterRole(
            f"{name}-role", metadata=ObjectMetaArgs(name=NAME), rules=RULES, opts=child
        )
        ClusterRoleBinding(
            f"{name}-role-binding",
            metadata=ObjectMetaArgs(name=NAME),
            role_ref={
                "api_group": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": role.metadata["name"],
            },
            subjects=[
                {
                    "kind": "ServiceAccount",
                    "name": account.metadata["name"],
                    "namespace": account.metadata["namespace"],
                }
            ],
            opts=child,
        )
