"""The gate at the API server: a ValidatingAdmissionPolicy for each rule that has a CEL form.

Built into Kubernetes, so that no webhook has to run. An object that is being deleted, whose spec
does not change, or of which only the status is written passes, and so does a ReplicaSet that
shrinks or grows: a rule that came later must not keep anybody from removing what it forbids, nor a
Deployment from rolling out what was mended. The settings of all rules travel in one ConfigMap, as
text. CEL knows no clock, so an exemption counts here until the first `up` after its last day. What
is exempt may make its pods: what it controls is exempt, too.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Literal

from policies.configuration import ConfiguredRule
from policies.language.cel import DESCRIBED_SHORT, literal, setting_key
from policies.language.rule import Admission, Kind

Stage = Literal["audit", "deny"]
NAMESPACE = "fleet-policies"
SETTINGS = "settings"
_ALIVE = "!has(object.metadata.deletionTimestamp)"
_TEMPLATE = "dyn({}).?spec.?template.orValue(null)"
_CHANGED = (
    "request.operation == 'CREATE' || oldObject == null || "
    # a Deployment writes how many pods its old sets have, and no more
    "(object.kind in ['ReplicaSet', 'ReplicationController'] ? "
    f"{_TEMPLATE.format('object')} != {_TEMPLATE.format('oldObject')} : "
    "['spec', 'rules', 'data'].exists(f, dyn(object)[?f].orValue(null) != "
    "dyn(oldObject)[?f].orValue(null)))"
)


# what stands between an object and its pods, by a name of its own
_BETWEEN = {"Deployment": "ReplicaSet", "CronJob": "Job", "CronWorkflow": "Workflow"}


def name(rule_id: str) -> str:
    """The name of a rule's objects: `idle/gpu-node-pool` is `fleet-idle-gpu-node-pool`."""
    return f"fleet-{rule_id.replace('/', '-')}"


def manifests(
    rules: Sequence[ConfiguredRule], *, stage: Stage, today: date
) -> list[dict[str, object]]:
    """The namespace and the settings, then the policy and the binding of every rule held here.

    Those are the rules with a CEL form that are not disabled. `audit` only tells and warns.
    """
    held = [each for each in rules if each.rule.admission and each.level != "disabled"]
    settings = {
        setting_key(each.rule.id, key): _text(value)
        for each in held
        for key, value in each.settings.items()
    }
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": SETTINGS, "namespace": NAMESPACE},
            "data": settings,
        },
        *(manifest for each in held for manifest in _of(each, stage, today)),
    ]


def _of(configured: ConfiguredRule, stage: Stage, today: date) -> Iterator[dict[str, object]]:
    rule = configured.rule
    assert rule.admission is not None  # noqa: S101  # the caller has looked
    named = name(rule.id)
    exempt = [each.resource for each in configured.exemptions if today <= each.until]
    yield {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": named},
        "spec": _policy(rule.id, rule.admission, exempt),
    }
    warns = stage == "audit" or configured.level == "advisory"
    yield {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": named},
        "spec": {
            "policyName": named,
            "paramRef": {
                "name": SETTINGS,
                "namespace": NAMESPACE,
                "parameterNotFoundAction": "Deny",
            },
            "validationActions": ["Audit", "Warn"] if warns else ["Deny"],
        },
    }


def _policy(rule_id: str, admission: Admission, exempt: Sequence[str]) -> Mapping[str, object]:
    conditions = [("alive", _ALIVE), ("changed", _CHANGED)]
    if exempt:
        conditions.append(("not-exempt", _not_exempt(exempt)))
    return {
        "failurePolicy": "Fail",
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": {"resourceRules": [_resource_rule(kind) for kind in admission.kinds]},
        "matchConditions": [
            {"name": key, "expression": expression} for key, expression in conditions
        ],
        "variables": [
            {"name": key, "expression": expression}
            for key, expression in admission.variables.items()
        ],
        "validations": [
            {
                "expression": admission.holds,
                "messageExpression": f"{literal(f'{rule_id}: ')} + ({admission.message})",
            }
        ],
    }


def _not_exempt(exempt: Sequence[str]) -> str:
    listed = ", ".join(map(literal, exempt))
    owner = literal(f"^({'|'.join(each for one in exempt for each in _owners(one))})$")
    owned = (
        "object.metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false) && "
        f"(o.kind + '/' + o.name).matches({owner}))"
    )
    return f"!({DESCRIBED_SHORT} in [{listed}] || {owned})"


def _owners(resource: str) -> Iterator[str]:
    """Regular expressions for what controls the pods of an object, and what is in between."""
    yield re.escape(resource)
    kind, _, called = resource.partition("/")
    if kind in _BETWEEN:
        yield f"{_BETWEEN[kind]}/{re.escape(called)}-[a-z0-9]+"


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
