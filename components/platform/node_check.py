"""fleet-node-check on every node that has a plan: one DaemonSet and its rights.

Its pods see the machine's file system read-only and run its nvidia-smi, for which they must be
privileged. In the API they may get and patch nodes; an admission policy keeps each to its own node,
the condition NodeDrift and the taint fleet.gpu/drift. Why so: docs/decisions/0011.
"""

import pulumi
from pulumi_kubernetes.admissionregistration.v1 import (
    ValidatingAdmissionPolicySpecArgsDict,
    ValidationArgsDict,
)
from pulumi_kubernetes.apps.v1 import DaemonSet
from pulumi_kubernetes.core.v1 import (
    ConfigMap,
    ContainerArgsDict,
    Namespace,
    NodeAffinityArgsDict,
    PodSpecArgsDict,
    ServiceAccount,
    VolumeMountArgsDict,
)
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs
from pulumi_kubernetes.rbac.v1 import PolicyRuleArgsDict

from components.platform import controller_pod
from components.platform.controller_pod import Program
from components.platform.rights import grant
from settings.names import NODE_CHECK_NAMESPACE, POD_SECURITY, PREFIX
from settings.versions import PYTHON_IMAGE
from workloads.node_check.node_api import CONDITION, TAINT
from workloads.node_check.program import FILE, INTERVAL_S, program

NAME = "fleet-node-check"
TEXTFILES = "/var/lib/fleet/metrics"
"""Where the node exporter finds the metrics; on the machine."""
_HOST = "/host"

_CLAIM = "authentication.kubernetes.io/node-name"
_THE_CHECK = f'request.userInfo.username == "system:serviceaccount:{NODE_CHECK_NAMESPACE}:{NAME}"'
_SPEC_FIELDS = ("podCIDR", "podCIDRs", "providerID", "unschedulable", "configSource")
_STATUS_FIELDS = ("capacity", "allocatable", "addresses", "nodeInfo", "images", "volumesInUse")

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
                name=NODE_CHECK_NAMESPACE,
                labels={POD_SECURITY: "privileged"},
            ),
            opts=child,
        )
        here = ObjectMetaArgs(name=NAME, namespace=space.metadata.name)
        check = Program(name=NAME, file=FILE, content=program())
        code = controller_pod.config_map(name, check, space.metadata.name, child)
        account = ServiceAccount(f"{name}-account", metadata=here, opts=child)
        limits = controller_pod.limits(name, NAME, policy(), child)
        grant(f"{name}-role", ObjectMetaArgs(name=NAME), RULES, account, child)
        DaemonSet(
            f"{name}-pods",
            metadata=here,
            spec={
                "selector": {"match_labels": check.labels},
                "update_strategy": {"rolling_update": {"max_unavailable": "10%"}},
                "template": {"metadata": {"labels": check.labels}, "spec": _pod(check, code)},
            },
            # a pod that came before its limits could write to any node
            opts=pulumi.ResourceOptions(parent=self, depends_on=limits),
        )
        self.register_outputs({"digest": check.digest})


def _pod(check: Program, code: ConfigMap) -> PodSpecArgsDict:
    """Return the spec of the pod: the machine below /host, the program, and one folder to write."""
    return {
        "service_account_name": NAME,
        # a node without a plan has nothing to be compared with
        "affinity": {"node_affinity": _nodes_with_a_plan()},
        # drift must be seen on any node, whatever keeps other pods away
        "tolerations": [{"operator": "Exists"}],
        "priority_class_name": "system-node-critical",
        # sysctls of the network are those of the reader's network namespace
        "host_network": True,
        "termination_grace_period_seconds": 5,
        "containers": [_container(check)],
        "volumes": [
            {"name": "host", "host_path": {"path": "/", "type": "Directory"}},
            {"name": "metrics", "host_path": {"path": TEXTFILES, "type": "DirectoryOrCreate"}},
            controller_pod.volume(code),
        ],
    }


def _container(check: Program) -> ContainerArgsDict:
    return {
        "name": "check",
        "image": PYTHON_IMAGE,
        "command": check.command,
        "args": [
            f"--every={INTERVAL_S}",
            f"--root={_HOST}",
            f"--textfile={TEXTFILES}",
            "--node=$(NODE)",
        ],
        "env": [{"name": "NODE", "value_from": {"field_ref": {"field_path": "spec.nodeName"}}}],
        # it enters the machine's root to run nvidia-smi, which opens /dev/nvidia*
        "security_context": {"privileged": True, "read_only_root_filesystem": True},
        "resources": {
            # a CPU asked for on every node is one that no job can have of them all
            "requests": {"cpu": "0", "memory": "64Mi"},
            "limits": {"memory": "256Mi"},
        },
        "volume_mounts": _mounts(),
    }


def _nodes_with_a_plan() -> NodeAffinityArgsDict:
    return {
        "required_during_scheduling_ignored_during_execution": {
            "node_selector_terms": [
                {"match_expressions": [{"key": f"{PREFIX}/numa-plan", "operator": "Exists"}]}
            ]
        }
    }


def _mounts() -> list[VolumeMountArgsDict]:
    return [
        {
            "name": "host",
            "mount_path": _HOST,
            "read_only": True,
            # extensions that are merged later must be seen
            "mount_propagation": "HostToContainer",
        },
        {"name": "metrics", "mount_path": TEXTFILES},
        controller_pod.MOUNT,
    ]


def policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """Returns the spec of the policy that keeps the check to one condition and taint of its node.

    RBAC cannot say "its own node". The API server knows it from the token of a pod (its claim
    `node-name`, Kubernetes 1.32), as kubernetes/test/e2e/auth/per_node_update.go shows.
    """
    return {
        "failure_policy": "Fail",
        "match_constraints": {
            "resource_rules": [
                {
                    "api_groups": [""],
                    "api_versions": ["v1"],
                    "operations": ["UPDATE"],
                    "resources": ["nodes", "nodes/status"],
                }
            ]
        },
        "match_conditions": [{"name": "the-check", "expression": _THE_CHECK}],
        "validations": [
            _rule(
                f"request.userInfo.extra[?'{_CLAIM}'][?0].orValue('') == object.metadata.name",
                "must change the node of its own pod alone",
            ),
            _rule(
                f"{_others('object.spec', 'taints', 'key', TAINT)}"
                f" == {_others('oldObject.spec', 'taints', 'key', TAINT)}",
                f"must change no taint but {TAINT}",
            ),
            _rule(
                f"{_others('object.status', 'conditions', 'type', CONDITION)}"
                f" == {_others('oldObject.status', 'conditions', 'type', CONDITION)}",
                f"must change no condition but {CONDITION}",
            ),
            _rule(_same("metadata", ("labels", "annotations")), "must change no label"),
            _rule(_same("spec", _SPEC_FIELDS), "must change nothing else of the spec"),
            _rule(_same("status", _STATUS_FIELDS), "must change nothing else of the status"),
        ],
    }


def _rule(expression: str, must: str) -> ValidationArgsDict:
    return {"expression": expression, "message": f"{NAME} {must}"}


def _others(part: str, field: str, key: str, ours: str) -> str:
    """The list without our entry, empty where there is none."""
    return f"{part}.?{field}.orValue([]).filter(each, each.{key} != '{ours}')"


def _same(part: str, fields: tuple[str, ...]) -> str:
    """An optional compares by its value, and by being there."""
    return " && ".join(f"object.{part}.?{each} == oldObject.{part}.?{each}" for each in fields)
