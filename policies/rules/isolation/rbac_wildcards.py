"""A role must name what it allows, and nobody may be bound to cluster-admin.

Wildcards are refused as verb, resource, API group or path, and in an AWS policy as the allowed
action `*` or `<service>:*`. Roles of Kubernetes (admin, cluster-admin, edit, view, and names that
begin with `system:`) are exempt, and so are roles of charts, whose names begin as the setting says.
"""

import json
from collections.abc import Iterable, Iterator, Mapping

from policies.language import cel
from policies.language.cel_forms import Fault, of_object
from policies.language.manifest import at, describe, items
from policies.language.rule import Kind, Manifest, Rule, Settings

ID = "isolation/rbac-wildcards"
_FIELDS = ("verbs", "resources", "apiGroups", "nonResourceURLs")
_ROLES = ("Role", "ClusterRole")
_BINDINGS = ("RoleBinding", "ClusterRoleBinding")
_GROUP = "rbac.authorization.k8s.io"
_OWN = ("admin", "cluster-admin", "edit", "view")
_ALL = ("*", "/*")  # of paths the second is as much as the first
_WILDCARD = "must name its {0} and not use a wildcard."
_ADMIN = "must not bind cluster-admin."
_ACTIONS = "must name the actions that it allows and not use a wildcard."
_POLICY = "must be a policy that can be read."
_AWS = (
    "aws:iam/policy:Policy",
    "aws:iam/rolePolicy:RolePolicy",
    "aws:iam/userPolicy:UserPolicy",
    "aws:iam/groupPolicy:GroupPolicy",
)


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Return what an object allows by a wildcard or by cluster-admin."""
    kind = manifest.get("kind")
    faults: Iterator[str] = iter(())
    if kind in _AWS:
        faults = _actions(at(manifest, "spec", "policy"))
    elif kind in (*_ROLES, *_BINDINGS) and not _is_known(manifest, settings):
        faults = _faults(manifest)
    return [f"{describe(manifest)} {fault}" for fault in faults]


def _is_known(manifest: Manifest, settings: Settings) -> bool:
    name = str(at(manifest, "metadata", "name") or "")
    return name in _OWN or name.startswith(tuple(map(str, items(settings["names"]))))


def _faults(manifest: Manifest) -> Iterator[str]:
    if not str(manifest.get("apiVersion")).startswith(f"{_GROUP}/"):
        return
    if manifest.get("kind") in _ROLES:
        for field in _FIELDS:
            if any(_names_all(items(at(rule, field))) for rule in items(manifest.get("rules"))):
                yield _WILDCARD.format(field)
    elif manifest.get("kind") in _BINDINGS and _binds_admin(manifest):
        yield _ADMIN


def _names_all(names: Iterable[object]) -> bool:
    return any(name in _ALL for name in names)


def _binds_admin(manifest: Manifest) -> bool:
    return at(manifest, "roleRef", "name") == "cluster-admin"


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
_NAMES = cel.setting(ID, "names")
_NAME = "object.metadata.?name.orValue('')"
_OTHERS = f"!({_NAME} in {list(_OWN)} || {_NAMES}.exists(n, {_NAME}.startsWith(n)))"


def _cel_faults() -> list[Fault]:
    found = [
        Fault(
            broken=(
                f"object.?rules.orValue([]).exists(r, r.?{field}.orValue([])"
                f".exists(n, n in {list(_ALL)}))"
            ),
            says=cel.literal(_WILDCARD.format(field)),
        )
        for field in _FIELDS
    ]
    admin = "object.?roleRef.?name.orValue('') == 'cluster-admin'"
    return [*found, Fault(broken=admin, says=cel.literal(_ADMIN))]


RULE = Rule(
    id=ID,
    sentence="A role must name what it allows, without wildcards.",
    why=(
        "A wildcard also allows resources that are added later, reading secrets, and raising one's "
        "own rights."
    ),
    source="https://kubernetes.io/docs/concepts/security/rbac-good-practices/",
    schema={
        "names": {
            "type": "array",
            "items": {"type": "string", "pattern": "^[a-z0-9:.-]+$"},
            "default": [
                "cilium",
                "gpu-operator",
                "hcloud-",
                "karpenter",
                "kubeadm:",
                "kured",
                "lakefs",
                "monitoring-",
                "kube-prometheus-stack",
                "nvidia-",
                "system:",
                "volcano-",
            ],
            "description": "Prefixes of the names that Kubernetes and charts give their roles.",
        }
    },
    predicate=violations,
    admission=of_object(KINDS, _OTHERS, _cel_faults()),
)
