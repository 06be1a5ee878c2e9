"""The gate at the API server: ValidatingAdmissionPolicies, one for each pack and what it does.

Built into Kubernetes, so that no webhook has to run. A policy holds the rules of a pack that refuse
(`fleet-numa`) or those that only warn (`fleet-numa-warn`): as the environment is in audit, or as
the rule is advisory. Its rules share variables, which the API server then compiles once, such as
the pods of an object; each rule has a validation of its own, so that what one says or fails to
read leaves the others' verdicts alone.

An object that is being deleted, whose spec does not change, or of which only the status is written
passes, and so does a ReplicaSet that shrinks or grows: a rule that came later must not keep anybody
from removing what it forbids, nor a Deployment from rolling out what was mended. CEL knows no
clock, so an exemption counts here until the first `up` after its last day. What is exempt may make
its pods: what it controls is exempt, too.

Settings and facts (`policies.language.facts`) stand in the policy that reads them, as typed
variables, and not in an object for `paramKind`: with a kind of our own the API server refuses
whatever the policy matches until it looks up kinds again, for up to half a minute after the kind
was made, and for good when somebody removes it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Literal

from policies.configuration import ConfiguredRule
from policies.language import cel
from policies.language.rule import Admission, Kind

Stage = Literal["audit", "deny"]
API = "admissionregistration.k8s.io/v1"
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
_DESCRIBED, _RESOURCE = "described", "resource"
_OF_REQUEST = "request.resource.group + '/' + request.resource.resource"
_VARIABLE = re.compile(r"\bvariables\.(\w+)")

# what stands between an object and its pods, by a name of its own
_BETWEEN = {"Deployment": "ReplicaSet", "CronJob": "Job", "CronWorkflow": "Workflow"}


def name(pack: str, *, warns: bool) -> str:
    """The name of a pack's policy and of its binding."""
    return f"fleet-{pack}-warn" if warns else f"fleet-{pack}"


def manifests(
    rules: Sequence[ConfiguredRule], *, stage: Stage, today: date
) -> list[dict[str, object]]:
    """The policies that hold the rules with a CEL form that are not disabled, with their bindings.

    In the stage `audit` all of them only warn.
    """
    groups: dict[tuple[str, bool], list[ConfiguredRule]] = {}
    for each in rules:
        if each.rule.admission and each.level != "disabled":
            warns = stage == "audit" or each.level == "advisory"
            groups.setdefault((each.rule.id.partition("/")[0], warns), []).append(each)
    return [
        manifest
        for (pack, warns), held in sorted(groups.items(), key=lambda group: group[0])
        for manifest in _of(name(pack, warns=warns), held, warns=warns, today=today)
    ]


def _of(
    named: str, held: Sequence[ConfiguredRule], *, warns: bool, today: date
) -> Iterator[dict[str, object]]:
    yield {
        "apiVersion": API,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": named},
        "spec": _policy(held, today),
    }
    yield {
        "apiVersion": API,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": named},
        "spec": {
            "policyName": named,
            "validationActions": ["Audit", "Warn"] if warns else ["Deny"],
        },
    }


def _policy(held: Sequence[ConfiguredRule], today: date) -> Mapping[str, object]:
    kinds = tuple(dict.fromkeys(kind for each in held for kind in _admission(each).kinds))
    variables = {
        _DESCRIBED: cel.DESCRIBED,
        _RESOURCE: _OF_REQUEST,
        **{key: cel.literal(value) for each in held for key, value in each.facts.items()},
    }
    validations = []
    for each in held:
        variables |= _variables(each, variables)
        validations.append(_validation(each, kinds, today))
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": _resource_rules(kinds)},
        "matchConditions": [
            {"name": "alive", "expression": _ALIVE},
            {"name": "changed", "expression": _CHANGED},
        ],
        "variables": [
            {"name": key, "expression": expression}
            for key, expression in _used(variables, validations).items()
        ],
        "validations": validations,
    }


def _fault(rule_id: str) -> str:
    return f"{cel.name_of(rule_id)}_fault"


def _admission(configured: ConfiguredRule) -> Admission:
    assert configured.rule.admission is not None  # noqa: S101  # `manifests` has looked
    return configured.rule.admission


def _variables(configured: ConfiguredRule, so_far: Mapping[str, str]) -> Mapping[str, str]:
    """The settings of a rule, what it shares with others, its own, and what it says by its name.

    Its own variables get its name before theirs.
    """
    rule, admission = configured.rule, _admission(configured)
    own = {key: f"{cel.name_of(rule.id)}_{key}" for key in admission.variables}
    settings = {
        cel.setting(rule.id, key).removeprefix("variables."): cel.literal(value)
        for key, value in configured.settings.items()
    }
    for key, expression in admission.shared.items():
        assert so_far.get(key, expression) == expression, f"{rule.id}: another {key}"  # noqa: S101  # a mistake of ours

    def renamed(expression: str) -> str:
        return _VARIABLE.sub(lambda found: f"variables.{own.get(found[1], found[1])}", expression)

    return {
        **settings,
        **admission.shared,
        **{own[key]: renamed(expression) for key, expression in admission.variables.items()},
        _fault(rule.id): renamed(admission.fault),
    }


def _validation(configured: ConfiguredRule, kinds: Sequence[Kind], today: date) -> dict[str, str]:
    """A rule keeps silent of kinds that are other rules', and of what is exempt from it."""
    rule = configured.rule
    said = f"variables.{_fault(rule.id)}"
    exempt = [each.resource for each in configured.exemptions if today <= each.until]
    passes = [
        *_of_other_rules(_admission(configured).kinds, kinds),
        *([_exempt(exempt)] if exempt else []),
    ]
    return {
        "expression": " || ".join([*passes, f"{said} == ''"]),
        "messageExpression": f"{cel.literal(f'{rule.id}: ')} + variables.{_DESCRIBED} + {said}",
    }


def _of_other_rules(own: Iterable[Kind], every: Iterable[Kind]) -> Iterator[str]:
    mine, others = _resources(own), _resources(every) - _resources(own)
    if others:
        listed, denied = min((others, ""), (mine, "!"), key=lambda each: len(each[0]))
        yield f"{denied}(variables.{_RESOURCE} in {sorted(listed)})"


def _resources(kinds: Iterable[Kind]) -> set[str]:
    """As `resource` has them: a pod's subresources are pods."""
    return {f"{group}/{plural.partition('/')[0]}" for group, plural in kinds}


def _used(variables: Mapping[str, str], validations: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The variables that a validation reads, itself or by others, in their order."""
    wanted = {name for each in validations for text in each.values() for name in _read(text)}
    for key, expression in reversed(list(variables.items())):
        if key in wanted:
            wanted |= _read(expression)
    return {key: expression for key, expression in variables.items() if key in wanted}


def _read(expression: str) -> set[str]:
    return {found[1] for found in _VARIABLE.finditer(expression)}


def _exempt(exempt: Sequence[str]) -> str:
    owner = cel.literal(f"^({'|'.join(each for one in exempt for each in _owners(one))})$")
    owned = (
        "object.metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false) && "
        f"(o.kind + '/' + o.name).matches({owner}))"
    )
    return f"{cel.DESCRIBED_SHORT} in {cel.literal(exempt)} || {owned}"


def _owners(resource: str) -> Iterator[str]:
    """Regular expressions for what controls the pods of an object, and what is in between."""
    yield re.escape(resource)
    kind, _, called = resource.partition("/")
    if kind in _BETWEEN:
        yield f"{_BETWEEN[kind]}/{re.escape(called)}-[a-z0-9]+"


def _resource_rules(kinds: Iterable[Kind]) -> list[Mapping[str, object]]:
    """One for each API group."""
    plurals: dict[str, list[str]] = {}
    for group, plural in kinds:
        plurals.setdefault(group, []).append(plural)
    return [
        {
            "apiGroups": [group],
            "apiVersions": ["*"],
            "operations": ["CREATE", "UPDATE"],
            "resources": listed,
        }
        for group, listed in plurals.items()
    ]
