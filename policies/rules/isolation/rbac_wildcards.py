"""A role must name what it allows, and nobody may be bound to cluster-admin.

Wildcards are refused as verb, resource, API group or path, and in an AWS policy as the allowed
action `*` or `<service>:*`. So is what leads to all rights, or past the rules, in other words:
`escalate` and `bind` on roles, `impersonate`, `nodes/proxy`, changing namespaces (exemptions and
Pod Security go by their labels), binding pods to nodes, and a ClusterRole that takes in all others
by a selector that names none, or cluster-admin by the label of the API server's own roles. In a
ClusterRole that names no objects also: reading all secrets, making tokens of all service accounts,
writing webhooks and admission policies, approving client certificates of the API server, and
writing nodes, whose labels and taints keep teams apart.

ClusterRoles of Kubernetes and of charts are known by their name *and* by what they hold: the same
name with more in it is refused. The setting adds roles in the same form. In all namespaces such a
role may be bound to the account that it is meant for, and to the subjects of the setting, to which
alone cluster-admin may be bound; a role for people is bound in their namespaces. What the API
server itself and its controller for aggregated roles write is theirs.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from policies.language import cel, role_bindings
from policies.language.cel_forms import Fault, of_object
from policies.language.known_rights import KNOWN
from policies.language.manifest import at, describe, items, mapping
from policies.language.rule import Admission, Kind, Manifest, Rule, Settings

ID = "isolation/rbac-wildcards"
_FIELDS = ("verbs", "resources", "apiGroups", "nonResourceURLs")
_ROLES = ("Role", "ClusterRole")
_BINDINGS = ("RoleBinding", "ClusterRoleBinding")
_GROUP = "rbac.authorization.k8s.io"
_ALL = ("*", "/*")  # of paths the second is as much as the first
_WILDCARD = "must name its {0} and not use a wildcard."
_ACTIONS = "must name the actions that it allows and not use a wildcard."
_POLICY = "must be a policy that can be read."
_TAKES_IN = (
    "must not take in cluster-admin or all other roles: its aggregationRule must name labels that "
    "others have."
)
# the only label of cluster-admin: Kubernetes v1.36.3, plugin/pkg/auth/authorizer/rbac/
# bootstrappolicy/policy.go
_MARK, _OWN = "kubernetes.io/bootstrapping", "rbac-defaults"
_AWS = (
    "aws:iam/policy:Policy",
    "aws:iam/rolePolicy:RolePolicy",
    "aws:iam/userPolicy:UserPolicy",
    "aws:iam/groupPolicy:GroupPolicy",
)
_READS = ("get", "list", "watch")
_WRITES = ("update", "patch")
_GATES = (
    *("validatingwebhookconfigurations", "mutatingwebhookconfigurations"),
    *("validatingadmissionpolicies", "validatingadmissionpolicybindings"),
    *("mutatingadmissionpolicies", "mutatingadmissionpolicybindings"),
)
_Power = tuple[str, Sequence[str], Sequence[str], str]
_POWERS: tuple[_Power, ...] = (
    (_GROUP, ("roles", "clusterroles"), ("escalate", "bind"), "must not {} roles."),
    ("", ("users", "groups", "serviceaccounts"), ("impersonate",), "must not {} anybody."),
    ("authentication.k8s.io", (), ("impersonate",), "must not {} anybody."),
    ("", ("nodes/proxy", "*/proxy"), (), "must not reach kubelets by nodes/proxy."),
    ("", ("namespaces",), _WRITES, "must not {} namespaces, by whose labels rules are held."),
    ("", ("bindings", "pods/binding"), ("create",), "must not bind pods to nodes."),
)
"""API group, resources, verbs and what is said; where there are none, any will do."""
_EVERYWHERE: tuple[_Power, ...] = (
    ("", ("secrets",), _READS, "must not read the secrets of all namespaces."),
    (
        "",
        ("serviceaccounts/token", "*/token"),
        ("create",),
        "must not make tokens of all service accounts.",
    ),
    (
        "admissionregistration.k8s.io",
        _GATES,
        ("create", *_WRITES, "delete", "deletecollection"),
        "must not change all webhooks or admission policies.",
    ),
    (
        "certificates.k8s.io",
        ("signers",),
        ("approve",),
        "must not approve certificates of all signers.",
    ),
    ("", ("nodes",), _WRITES, "must not {} all nodes."),
)
"""The same for ClusterRoles, where no object is named, or one that is as good as all."""
_AS_ALL = ("kubernetes.io/kube-apiserver-client", "kubernetes.io/*")
_ALL_POWERS = (*_POWERS, *_EVERYWHERE)
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
        elif kind in _BINDINGS:
            faults = role_bindings.faults(manifest, items(settings["administrators"]))
    return [f"{describe(manifest)} {fault}" for fault in faults]


def _of_role(role: Manifest, settings: Settings) -> Iterator[str]:
    known = list(_known(role, settings))
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
            if any(_has(power, rule) and _of_all(rule) for rule in rules):
                yield _said(power)
        if any(map(_takes_in_all, items(at(role, "aggregationRule", "clusterRoleSelectors")))):
            yield _TAKES_IN


def _known(role: Manifest, settings: Settings) -> Iterator[Mapping[str, object]]:
    name = str(at(role, "metadata", "name"))
    if role.get("kind") == "ClusterRole":
        yield from map(mapping, KNOWN.get(name, ()))
    for each in items(settings["roles"]):
        if at(each, "name") == name:
            yield from map(mapping, items(at(each, "rules")))


def _holds(known: Mapping[str, object], rule: Mapping[str, object]) -> bool:
    """Return whether a known rule has all of another, apart from what anybody may hold."""
    exact = "*" in items(rule.get("verbs"))
    met = [power for power in _ALL_POWERS if _has(power, rule)]
    guarded = {
        "resources": {"*", *(name for power in met for name in power[1])},
        "verbs": {"*", *(verb for power in met for verb in power[2])},
    }
    for field in _FIELDS:
        listed = items(known.get(field))
        wanted = items(rule.get(field))
        if field == "verbs" or (field == "resources" and not exact):
            wanted = [each for each in wanted if each in guarded[field]]
        if "*" not in listed and not all(each in listed for each in wanted):
            return False
    return True


def _of_all(rule: Mapping[str, object]) -> bool:
    names = items(rule.get("resourceNames"))
    return not names or any(name in _AS_ALL for name in names)


def _said(power: _Power) -> str:
    return power[3].format(" or ".join(power[2]))


def _has(power: _Power, rule: Mapping[str, object]) -> bool:
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
_MEETS = (
    "p.group in r.?apiGroups.orValue([]) && "
    "(size(p.resources) == 0 || p.resources.exists(y, y in r.?resources.orValue([]))) && "
    "(size(p.verbs) == 0 || p.verbs.exists(y, y in r.?verbs.orValue([])))"
)
_UNGUARDED = "x != '*' && !variables.powers.exists(p, x in p.{} && " + _MEETS + ")"
_HARMLESS = {
    "resources": f"!('*' in r.?verbs.orValue([])) && {_UNGUARDED.format('resources')}",
    "verbs": _UNGUARDED.format("verbs"),
}
_SAME = " && ".join(
    f"('*' in g.{field} || r.?{field}.orValue([])"
    f".all(x, x in g.{field} || ({_HARMLESS.get(field, 'false')})))"
    for field in _FIELDS
)
# the API server writes null for a role that has none, such as one that others are taken into
_RULES = "(dyn(object.?rules.orValue(null)) == null ? [] : object.rules)"
_NAME = "object.metadata.?name.orValue('')"
_OF_SETTING = f"{cel.setting(ID, 'roles')}.filter(k, k.name == {_NAME})"
_VARIABLES = {
    "powers": cel.literal(
        [dict(zip(("group", "resources", "verbs"), each, strict=False)) for each in _ALL_POWERS]
    ),
    "known": f"object.kind == 'ClusterRole' ? {cel.literal(KNOWN)}[?{_NAME}].orValue([]) : []",
    "judged": (
        f"(object.kind in ['Role', 'ClusterRole'] ? {_RULES}.filter(r, "
        f"!(variables.known.exists(g, {_SAME}) || "
        f"{_OF_SETTING}.exists(k, k.rules.exists(g, {_SAME})))) : [])"
    ),
    **role_bindings.VARIABLES,
}
_CEL_OF_ALL = (
    f"(size(r.?resourceNames.orValue([])) == 0 || r.resourceNames.exists(n, n in {list(_AS_ALL)}))"
)


def _cel_has(power: _Power) -> str:
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
                f"{_CEL_OF_ALL} && {_cel_has(each)})"
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
    return [
        *wildcards,
        *powers,
        *everywhere,
        Fault(broken=takes_in, says=cel.literal(_TAKES_IN)),
        *role_bindings.cel_faults(cel.setting(ID, "administrators")),
    ]


def _admission() -> Admission:
    found = of_object(KINDS, _BY_PEOPLE, _cel_faults())
    return replace(found, variables=_VARIABLES)


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
            "description": "Subjects to whom cluster-admin and other known roles may be bound.",
        },
    },
    predicate=violations,
    admission=_admission(),
)
