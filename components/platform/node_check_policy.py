"""What fleet-node-check may change: of its own node, one condition and one taint.

RBAC cannot say "its own node". The API server knows it from the token of a pod (its claim
`node-name`, Kubernetes 1.32), as kubernetes/test/e2e/auth/per_node_update.go shows.
"""

from pulumi_kubernetes.admissionregistration.v1 import (
    ValidatingAdmissionPolicySpecArgsDict,
    ValidationArgsDict,
)

from components.platform.node_check_pod import NAME, NAMESPACE
from workloads.node_check.node_api import CONDITION, TAINT

_CLAIM = "authentication.kubernetes.io/node-name"
_THE_CHECK = f'request.userInfo.username == "system:serviceaccount:{NAMESPACE}:{NAME}"'
_SPEC_FIELDS = ("podCIDR", "podCIDRs", "providerID", "unschedulable", "configSource")
_STATUS_FIELDS = ("capacity", "allocatable", "addresses", "nodeInfo", "images", "volumesInUse")


def policy() -> ValidatingAdmissionPolicySpecArgsDict:
    """The spec of the ValidatingAdmissionPolicy."""
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
