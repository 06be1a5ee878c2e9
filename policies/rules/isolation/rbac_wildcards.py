"""A role must name what it allows, and nobody may be bound to cluster-admin.

Wildcards are refused as verb, resource, API group or path, and in an AWS policy as the allowed
action `*` or `<service>:*`. So is what leads to all rights in other words: `escalate` and `bind` on
roles, `impersonate`, `nodes/proxy`, in a ClusterRole reading all secrets or making tokens of all
service accounts, and a ClusterRole that takes in all others by a selector that names none, or
cluster-admin by the label that the API server gives its own roles.

Roles of Kubernetes and of charts are known by their name *and* by what they hold: the same name
with more in it is refused. The setting adds roles in the same form. cluster-admin may be bound to
the subjects of the setting alone. What the API server itself and its controller for aggregated
roles write is theirs.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from policies.language import cel
from policies.language.cel_forms import Fault, of_object
from policies.language.known_roles import KNOWN
from policies.language.manifest import at, describe, items, mapping
from policies.language.rule import Admission, Kind, Manifest, Rule, Settings

ID = "isolation/rbac-wildcards"
_FIELDS = ("verbs", "resources", "apiGroups", "nonResourceURLs")
_ROLES = ("Role", "ClusterRole")
_BINDINGS = ("RoleBinding", "ClusterRoleBinding")
_GROUP = "rbac.authorization.k8s.io"
_ALL = ("*", "/*")  # of paths the second is as much as the first
_WILDCARD = "must name its {0} and not use a wildcard."
_ADMIN = "must not bind cluster-admin."
_ACTIONS = "must name the actions that it allows and not use a wildcard."
_POLICY = "must be a policy that can be read."
_TAKES_IN = (
    "must not take in cluster-admin or all other roles: its aggregationRule must name labels that "
    "others have."
)
# the only label of cluster-admin: Kubernetes v1.34.1, plugin/pkg/auth/authorizer/rbac/
# bootstrappolicy/policy.go
_MARK, _OWN = "kubernetes.io/bootstrapping", "rbac-defaults"
_AWS = (
    "aws:iam/policy:Policy",
    "aws:iam/rolePolicy:RolePolicy",
    "aws:iam/userPolicy:UserPolicy",
    "aws:iam/groupPolicy:GroupPolicy",
)
_READS = ("get", "list", "watch")
_Powers = tuple[tuple[str, Sequence[str], Sequence[str], str], ...]
_POWERS: _Powers = (
    (_GROUP, ("roles", "clusterroles"), ("escalate", "bind"), "must not {} roles."),
    ("", ("users", "groups", "serviceaccounts"), ("impersonate",), "must not {} anybody."),
    ("authentication.k8s.io", (), ("impersonate",), "must not {} anybody."),
    ("", ("nodes/proxy", "*/proxy"), (), "must not reach kubelets by nodes/proxy."),
)
"""API group, resources, verbs and what is said; where there are none, any will do."""
_EVERYWHERE: _Powers = (
    ("", ("secrets",), _READS, "must not read the secrets of all namespaces."),
    (
        "",
        ("serviceaccounts/token", "*/token"),
        ("create",),
        "must not make tokens of all service accounts.",
    ),
)
"""The same for ClusterRoles, where no resource is named."""
_GUARDED = {
    "resources": ["*", *(name for power in (*_POWERS, *_EVERYWHERE) for name in power[1])],
    "verbs": ["*", *(verb for power in (*_POWERS, *_EVERYWHERE) for verb in power[2])],
}
_WRITERS = (
    "system:apiserver",
    "system:serviceaccount:kube-system:clusterrole-aggregation-controller",
)


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Return what an object allows by a wildcard, by other words for all, or by cluster-admin."""
    kind = manifest.get("kind")
    faults: Iterator[str] = iter(())
    if kind in _AWS:
        faults = _actions(at(manifest, "spec", "policy"))
    elif str(manifest.get("apiVersion")).startswith(f"{_GROUP}/"):
        if kind in _ROLES:
            faults = _of_role(manifest, settings)
        elif kind in _BINDINGS and _binds_admin(manifest, items(settings["administrators"])):
            faults = iter([_ADMIN])
    return [f"{describe(manifest)} {fault}" for fault in faults]


def _of_role(role: Manifest, settings: Settings) -> Iterator[str]:
    known = list(_known(str(at(role, "metadata", "name")), settings))
    rules = [
        mapping(rule)
        for rule in items(role.get("rules"))
        if not any(_holds(each, mapping(rule)) for each in known)
    ]
    for field in _FIELDS:
        if any(_names_all(items(rule.get(field))) for rule in rules):
            yield _WILDCARD.format(field)
    for power in _POWERS:
        if any(_has(power, rule) for rule in rules):
            yield _said(power)
    if role.get("kind") == "ClusterRole":
        for power in _EVERYWHERE:
            if any(_has(power, rule) and not items(rule.get("resourceNames")) for rule in rules):
                yield _said(power)
        if any(map(_takes_in_all, items(at(role, "aggregationRule", "clusterRoleSelectors")))):
            yield _TAKES_IN


def _known(name: str, settings: Settings) -> Iterator[Mapping[str, object]]:
    yield from map(mapping, KNOWN.get(name, ()))
    for each in items(settings["roles"]):
        if at(each, "name") == name:
            yield from map(mapping, items(at(each, "rules")))


def _holds(known: Mapping[str, object], rule: Mapping[str, object]) -> bool:
    """Return whether a known rule has all of another, apart from what anybody may hold."""
    exact = "*" in items(rule.get("verbs"))
    for field in _FIELDS:
        listed = items(known.get(field))
        wanted = items(rule.get(field))
        if field == "verbs" or (field == "resources" and not exact):
            wanted = [each for each in wanted if each in _GUARDED[field]]
        if "*" not in listed and not all(each in listed for each in wanted):
            return False
    return True


def _said(power: tuple[str, Sequence[str], Sequence[str], str]) -> str:
    return power[3].format(" or ".join(power[2]))


def _has(power: tuple[str, Sequence[str], Sequence[str], str], rule: Mapping[str, object]) -> bool:
    group, resources, verbs, _ = power
    return (
        group in items(rule.get("apiGroups"))
        and (not resources or any(each in resources for each in items(rule.get("resources"))))
        and (not verbs or any(each in verbs for each in items(rule.get("verbs"))))
    )


def _takes_in_all(selector: object) -> bool:
    """Return whether a selector names no label that a role must have, or matches cluster-admin."""
    labels = mapping(at(selector, "matchLabels"))
    expressions = items(at(selector, "matchExpressions"))
    operators = {at(each, "operator") for each in expressions}
    if not labels and not operators & {"In", "Exists"}:
        return True
    named = all((key, value) == (_MARK, _OWN) for key, value in labels.items())
    return named and all(map(_matches_admin, expressions))


def _matches_admin(expression: object) -> bool:
    operator, has = at(expression, "operator"), _OWN in items(at(expression, "values"))
    if at(expression, "key") != _MARK:
        return operator in ("NotIn", "DoesNotExist")
    return operator == "Exists" or (operator == "In" and has) or (operator == "NotIn" and not has)


def _names_all(names: Iterable[object]) -> bool:
    return any(name in _ALL for name in names)


def _binds_admin(manifest: Manifest, administrators: Sequence[object]) -> bool:
    return at(manifest, "roleRef", "name") == "cluster-admin" and not _are_administrators(
        items(manifest.get("subjects")), administrators
    )


def _are_administrators(subjects: Sequence[object], administrators: Sequence[object]) -> bool:
    return bool(subjects) and all(_subject(each) in administrators for each in subjects)


def _subject(subject: object) -> str:
    space = at(subject, "namespace")
    name = f"{space}/{at(subject, 'name')}" if space else at(subject, "name")
    return f"{at(subject, 'kind')}/{name}"


def _actions(policy: object) -> Iterator[str]:
    """A policy comes as JSON text, or as what the text would say."""
    try:
        document = json.loads(policy) if isinstance(policy, str) else policy
    except ValueError:
        yield _POLICY
        return
    statements = at(document, "Statement")
    for statement in [statements] if isinstance(statements, Mapping) else items(statements):
        if at(statement, "Effect") != "Allow":
            continue
        actions = at(statement, "Action")
        named = [actions] if isinstance(actions, str) else items(actions)
        # what is not named is all the rest
        if at(statement, "NotAction") is not None or any(_is_all(str(each)) for each in named):
            yield _ACTIONS
            return


def _is_all(action: str) -> bool:
    return action == "*" or action.endswith(":*")


KINDS: tuple[Kind, ...] = tuple(
    (_GROUP, plural) for plural in ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
)
_BY_PEOPLE = f"!(request.userInfo.username in {list(_WRITERS)})"
_HARMLESS = {
    "resources": f"!('*' in r.?verbs.orValue([])) && !(x in {_GUARDED['resources']})",
    "verbs": f"!(x in {_GUARDED['verbs']})",
}
_SAME = " && ".join(
    f"('*' in g.{field} || r.?{field}.orValue([])"
    f".all(x, x in g.{field} || ({_HARMLESS.get(field, 'false')})))"
    for field in _FIELDS
)
_NAME = "object.metadata.?name.orValue('')"
_OF_SETTING = f"{cel.setting(ID, 'roles')}.filter(k, k.name == {_NAME})"
_RULES = (
    "(object.kind in ['Role', 'ClusterRole'] ? object.?rules.orValue([]).filter(r, "
    f"!({cel.literal(KNOWN)}[?{_NAME}].orValue([]).exists(g, {_SAME}) || "
    f"{_OF_SETTING}.exists(k, k.rules.exists(g, {_SAME})))) : [])"
)
_SUBJECT = "s.kind + '/' + (s.?namespace.orValue('') == '' ? '' : s.namespace + '/') + s.name"


def _cel_has(power: tuple[str, Sequence[str], Sequence[str], str]) -> str:
    group, resources, verbs, _ = power
    parts = [f"{cel.literal(group)} in r.?apiGroups.orValue([])"]
    if resources:
        parts.append(f"r.?resources.orValue([]).exists(x, x in {list(resources)})")
    if verbs:
        parts.append(f"r.?verbs.orValue([]).exists(x, x in {list(verbs)})")
    return " && ".join(parts)


def _cel_faults() -> list[Fault]:
    wildcards = [
        Fault(
            broken=(
                f"variables.judged.exists(r, r.?{field}.orValue([]).exists(n, n in {list(_ALL)}))"
            ),
            says=cel.literal(_WILDCARD.format(field)),
        )
        for field in _FIELDS
    ]
    powers = [
        Fault(broken=f"variables.judged.exists(r, {_cel_has(each)})", says=cel.literal(_said(each)))
        for each in _POWERS
    ]
    everywhere = [
        Fault(
            broken=(
                "object.kind == 'ClusterRole' && variables.judged.exists(r, "
                f"size(r.?resourceNames.orValue([])) == 0 && {_cel_has(each)})"
            ),
            says=cel.literal(_said(each)),
        )
        for each in _EVERYWHERE
    ]
    labels, expressions = "s.?matchLabels.orValue({})", "s.?matchExpressions.orValue([])"
    has = f"'{_OWN}' in e.?values.orValue([])"
    takes_in = (
        "object.?aggregationRule.?clusterRoleSelectors.orValue([]).exists(s, "
        f"size({labels}) == 0 && !{expressions}.exists(e, e.operator in ['In', 'Exists']) || "
        f"{labels}.all(k, v, k == '{_MARK}' && v == '{_OWN}') && {expressions}.all(e, "
        f"e.key != '{_MARK}' ? e.operator in ['NotIn', 'DoesNotExist'] : e.operator == 'Exists' || "
        f"e.operator == 'In' && {has} || e.operator == 'NotIn' && !({has})))"
    )
    known = cel.setting(ID, "administrators")
    subjects = "object.?subjects.orValue([])"
    admin = (
        "object.?roleRef.?name.orValue('') == 'cluster-admin' && "
        f"(size({subjects}) == 0 || !{subjects}.all(s, ({_SUBJECT}) in {known}))"
    )
    return [
        *wildcards,
        *powers,
        *everywhere,
        Fault(broken=takes_in, says=cel.literal(_TAKES_IN)),
        Fault(broken=admin, says=cel.literal(_ADMIN)),
    ]


def _admission() -> Admission:
    found = of_object(KINDS, _BY_PEOPLE, _cel_faults())
    return replace(found, variables={"judged": _RULES})


_LIST = {"type": "array", "items": {"type": "string"}, "default": []}
RULE = Rule(
    id=ID,
    sentence="A role must name what it allows, without wildcards.",
    why=(
        "A wildcard also allows resources that are added later, reading secrets, and raising one's "
        "own rights."
    ),
    source="https://kubernetes.io/docs/concepts/security/rbac-good-practices/",
    schema={
        "roles": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["name", "rules"],
                "properties": {
                    "name": {"type": "string", "minLength": 1},
                    "rules": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "additionalProperties": False,
                            "required": list(_FIELDS),
                            "properties": dict.fromkeys(_FIELDS, _LIST),
                        },
                    },
                },
            },
            "default": [],
            "description": "Further roles by name, each with the rules that it may hold at most.",
        },
        "administrators": {
            "type": "array",
            "items": {"type": "string", "pattern": "^(User|Group|ServiceAccount)/.+$"},
            "default": ["Group/kubeadm:cluster-admins", "Group/system:masters"],
            "description": "Subjects to whom cluster-admin may be bound.",
        },
    },
    predicate=violations,
    admission=_admission(),
)
