"""The gate at the API server: a ValidatingAdmissionPolicy for each rule that has a CEL form.

Built into Kubernetes, so that no webhook has to run. An object that is being deleted, whose spec
does not change, or of which only the status is written passes: a rule that came later must not keep
anybody from removing what it forbids. Settings travel in a ConfigMap, as text.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from policies.configuration import Configured
from policies.rules.rule import Admission, Kind

Stage = Literal["audit", "deny"]
NAMESPACE = "fleet-policies"
_ALIVE = "!has(object.metadata.deletionTimestamp)"
_CHANGED = (
    "request.operation == 'CREATE' || oldObject == null || "
    "object.?spec.orValue(null) != oldObject.?spec.orValue(null)"
)


def name(rule_id: str) -> str:
    """The name of a rule's objects: `idle/gpu-node-pool` is `fleet-idle-gpu-node-pool`."""
    return f"fleet-{rule_id.replace('/', '-')}"


def manifests(rules: Sequence[Configured], *, stage: Stage) -> list[dict[str, object]]:
    """The objects of every rule that has a CEL form and is not disabled, namespace first."""
    enabled = [each for each in rules if each.rule.admission and each.level != "disabled"]
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        *(manifest for each in enabled for manifest in _of(each, stage)),
    ]


def _of(configured: Configured, stage: Stage) -> Iterator[dict[str, object]]:
    rule = configured.rule
    assert rule.admission is not None  # noqa: S101  # the caller has looked
    named = name(rule.id)
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": named, "namespace": NAMESPACE},
        "data": {key: _text(value) for key, value in configured.settings.items()},
    }
    yield {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": named},
        "spec": _policy(rule.id, rule.admission),
    }
    warns = stage == "audit" or configured.level == "advisory"
    yield {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": named},
        "spec": {
            "policyName": named,
            "paramRef": {
                "name": named,
                "namespace": NAMESPACE,
                "parameterNotFoundAction": "Deny",
            },
            "validationActions": ["Audit", "Warn"] if warns else ["Deny"],
        },
    }


def _policy(rule_id: str, admission: Admission) -> Mapping[str, object]:
    return {
        "failurePolicy": "Fail",
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": {"resourceRules": [_resource_rule(kind) for kind in admission.kinds]},
        "matchConditions": [
            {"name": "alive", "expression": _ALIVE},
            {"name": "changed", "expression": _CHANGED},
        ],
        "variables": [
            {"name": key, "expression": expression}
            for key, expression in admission.variables.items()
        ],
        "validations": [
            {
                "expression": admission.holds,
                "messageExpression": f"'{rule_id}: ' + {admission.message}",
            }
        ],
    }


def _resource_rule(kind: Kind) -> Mapping[str, object]:
    group, plural = kind
    return {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": [plural],
    }


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ",".join(map(str, value))
    return str(value)
