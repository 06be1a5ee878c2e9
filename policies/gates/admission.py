"""The gate at the API server: ValidatingAdmissionPolicies, one for each pack and what it does.

Built into Kubernetes, so that no webhook has to run. A policy holds the rules of a pack that refuse
(`fleet-numa`) or those that only warn (`fleet-numa-warn`): as the environment is in audit, or as
the rule is advisory. Its rules share variables, which the API server then compiles once, such as
the pods of an object; each rule has a validation of its own, so that what one says or fails to
read leaves the others' verdicts alone.

An object of which nothing changes that a rule reads, or of which only the status or a finalizer is
written passes, and so does a ReplicaSet that shrinks or grows: a rule that came later must not keep
anybody from removing what it forbids, nor a Deployment from rolling out what was mended. What is
being deleted is judged like the rest: a finalizer keeps it, and a role that waits for one grants.

What is exempt may make its pods: what it controls is exempt, too, where a controller makes it. CEL
knows no clock, but the API server writes into every new object when it was made: an exemption ends
on its day for what is made, and for what runs with the first `up` behind it.

Settings and facts (`policies.language.facts`) stand in the policy that reads them, as typed
variables, and not in an object for `paramKind`: with a kind of our own the API server refuses
whatever the policy matches until it looks up kinds again, for up to half a minute after the kind
was made, and for good when somebody removes it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from policies.configuration import ANY, ConfiguredRule, Exemption
from policies.language import cel
from policies.language.facts import declared_kinds
from policies.language.owners import CONTROLLERS, OWNERS, VOUCHED, VOUCHED_AS_A_WHOLE
from policies.language.pods import KINDS as POD_KINDS
from policies.language.rule import Admission, Kind
from settings.names import PREFIX

Stage = Literal["audit", "deny"]
API = "admissionregistration.k8s.io/v1"
_TEMPLATE = "dyn({}).?spec.?template.orValue(null)"
_UNREAD = ("apiVersion", "kind", "metadata", "status")
_MARK = r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?/[A-Za-z0-9._-]*"
_KEYS = re.compile(rf"'({_MARK})'|\"({_MARK})\"|\[\?'([A-Za-z0-9._-]+)'\]")
_DESCRIBED, _RESOURCE = "described", "resource"
_NAMESPACE = "object.metadata.?namespace.orValue('')"
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
    groups: dict[tuple[str, bool], list[_Held]] = {}
    for each in rules:
        if each.rule.admission and each.level != "disabled":
            for warns, held in _held(each, warns=stage == "audit" or each.level == "advisory"):
                groups.setdefault((each.rule.id.partition("/")[0], warns), []).append(held)
    return [
        manifest
        for (pack, warns), held in sorted(groups.items(), key=lambda group: group[0])
        for manifest in _of(name(pack, warns=warns), held, warns=warns, today=today)
    ]


@dataclass(frozen=True, kw_only=True)
class _Held:
    """A rule in a policy. `where`: CEL of where the policy holds it, empty for everywhere."""

    configured: ConfiguredRule
    where: str = ""


def _held(configured: ConfiguredRule, *, warns: bool) -> Iterator[tuple[bool, _Held]]:
    """Yield whether a policy warns, and the rule in it: in some namespaces a rule only warns."""
    advisory = configured.advisory_in
    if warns or not advisory:
        yield warns, _Held(configured=configured)
        return
    inside = f"{_NAMESPACE} in {cel.literal(advisory)}"
    yield False, _Held(configured=configured, where=f"!({inside})")
    yield True, _Held(configured=configured, where=f"({inside})")


def _of(
    named: str, held: Sequence[_Held], *, warns: bool, today: date
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


def _policy(held: Sequence[_Held], today: date) -> Mapping[str, object]:
    rules = [each.configured for each in held]
    kinds = tuple(dict.fromkeys(kind for each in rules for kind in _kinds(each)))
    variables = _given(rules)
    validations = []
    for each in held:
        variables |= _variables(each.configured, variables)
        validations.append(_validation(each, kinds, today))
    used = _used(variables, validations)
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": _resource_rules(kinds)},
        "matchConditions": [{"name": "changed", "expression": _changed(used.values())}],
        "variables": [{"name": key, "expression": expression} for key, expression in used.items()],
        "validations": validations,
    }


def _given(rules: Sequence[ConfiguredRule]) -> dict[str, str]:
    """The variables that every policy has: the request, whom it believes, and the facts."""
    declared = declared_kinds(rules[0].facts)
    facts = {key: cel.literal(value) for each in rules for key, value in each.facts.items()}
    return {
        _DESCRIBED: cel.DESCRIBED,
        _RESOURCE: _OF_REQUEST,
        **facts,
        "controllers": cel.literal([*CONTROLLERS, *rules[0].facts.get("controllers", ())]),
        "vouched": VOUCHED,
        "declared": cel.templates(declared),
        "declaredKinds": cel.literal([f"{each.group}/{each.kind}" for each in declared]),
        "declaredServices": cel.literal([each.kind for each in declared if each.service]),
    }


def _changed(expressions: Iterable[str]) -> str:
    """CEL: whether a request changes what the rules of a policy read.

    That is every field beside the metadata and the status, and those labels and annotations whose
    keys stand in the rules. A Deployment writes how many pods its old sets have, and hands on its
    annotations: of a set only the template counts.
    """
    keys = sorted(_marks(expressions))
    marked = (
        "['labels', 'annotations'].exists(m, [[dyn(object).metadata[?m].orValue({}), "
        "dyn(oldObject).metadata[?m].orValue({})]].exists(b, (b[0].map(k, k) + b[1].map(k, k))"
        f".exists(k, (k.startsWith('{PREFIX}/') || k in {keys}) && "
        "b[0][?k].orValue(null) != b[1][?k].orValue(null))))"
    )
    fields = (
        "(dyn(object).map(k, k) + dyn(oldObject).map(k, k))"
        f".exists(k, !(k in {list(_UNREAD)}) && "
        "dyn(object)[?k].orValue(null) != dyn(oldObject)[?k].orValue(null))"
    )
    return (
        "request.operation == 'CREATE' || oldObject == null || "
        "(object.kind in ['ReplicaSet', 'ReplicationController'] ? "
        f"{_TEMPLATE.format('object')} != {_TEMPLATE.format('oldObject')} : {fields} || {marked})"
    )


def _marks(expressions: Iterable[str]) -> set[str]:
    """The keys of labels and annotations in the CEL of rules, and what looks like one."""
    return {
        next(filter(None, found.groups()))
        for expression in expressions
        for found in _KEYS.finditer(expression)
    }


def _kinds(configured: ConfiguredRule) -> tuple[Kind, ...]:
    """The kinds of a rule; one that speaks of pods speaks of those of the environment, too."""
    own = _admission(configured).kinds
    if not {*POD_KINDS} <= {*own}:
        return own
    declared = declared_kinds(configured.facts)
    return (*own, *((each.group, each.resource) for each in declared))


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


def _validation(held: _Held, kinds: Sequence[Kind], today: date) -> dict[str, str]:
    """A rule keeps silent of kinds that are other rules', and of what is exempt from it."""
    rule = held.configured.rule
    said = f"variables.{_fault(rule.id)}"
    passes = [
        *_of_other_rules(_kinds(held.configured), kinds),
        *([f"!{held.where}"] if held.where else []),
        *(f"({_exempt(each)})" for each in held.configured.exemptions if today <= each.until),
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


def _exempt(exemption: Exemption) -> str:
    """CEL: whether an object is exempt, or made by a controller for one that is.

    Nothing is that was made behind the last day.
    """
    end = exemption.until + timedelta(days=1)
    made_before = (
        "(request.operation != 'CREATE' || "
        f"timestamp(object.metadata.creationTimestamp) < timestamp('{end}T00:00:00Z'))"
    )
    return " && ".join([*_is_there(exemption), *_is_it(exemption), made_before])


def _is_there(exemption: Exemption) -> Iterator[str]:
    if exemption.namespace:
        yield f"{_NAMESPACE} == {cel.literal(exemption.namespace)}"
    if exemption.namespace_label:
        key, _, value = exemption.namespace_label.partition("=")
        said = f"namespaceObject.metadata.?labels[?{cel.literal(key)}].orValue('')"
        yield f"namespaceObject != null && {said} == {cel.literal(value)}"


def _is_it(exemption: Exemption) -> Iterator[str]:
    if exemption.resource == ANY:
        return
    it, owner = f"{cel.DESCRIBED_SHORT} == {cel.literal(exemption.named)}", ""
    if exemption.group is not None:
        group = cel.literal(exemption.group)
        it += f" && request.resource.group == {group}"
        owner = f" && (o.apiVersion.contains('/') ? o.apiVersion.split('/')[0] : '') == {group}"
    named = cel.literal(f"^({'|'.join(_owners(exemption.named))})$")
    controls = f"o.?controller.orValue(false) && (o.kind + '/' + o.name).matches({named}){owner}"
    yield f"({it} || {VOUCHED_AS_A_WHOLE} && {OWNERS}.exists(o, {controls}))"


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
