"""The namespace of a team, and any in which the stack runs pods, must deny traffic by default.

The stack must have a NetworkPolicy that selects all pods of the namespace in each direction of the
setting; it denies what it does not allow. A policy that selects all pods and lets in everybody is
refused: a rule without ports and with no peer, all pods of all namespaces, or all addresses. The
label `fleet.gpu/team` marks the namespace of a team. Namespaces of charts are exempt by a setting.
"""

from collections.abc import Iterator, Sequence

from policies.language import cel
from policies.language.cel_forms import Fault, of_object
from policies.language.manifest import at, describe, items, mapping
from policies.language.pods import pods
from policies.language.rule import Kind, Manifest, Rule, Settings
from policies.language.system_namespaces import schema
from settings.names import TEAM_LABEL

ID = "isolation/network-policy"
_LACKS = "must have a NetworkPolicy that selects all its pods, for {}."
_OPEN = "must not let everybody reach all pods of its namespace."


def violations(manifest: Manifest, _settings: Settings) -> list[str]:
    """Returns a NetworkPolicy that selects all pods and denies nothing."""
    if not _is_policy(manifest) or not _selects_all(manifest):
        return []
    rules = items(at(manifest, "spec", "ingress"))
    is_open = any(_is_everybody(items(at(rule, "from"))) and not _ports(rule) for rule in rules)
    return [f"{describe(manifest)} {_OPEN}"] if is_open else []


def _ports(rule: object) -> Sequence[object]:
    return items(at(rule, "ports"))


def _is_everybody(peers: Sequence[object]) -> bool:
    return not peers or any(_is_all_namespaces(each) or _is_all_addresses(each) for each in peers)


def _is_all_namespaces(peer: object) -> bool:
    selectors = mapping(peer)
    return selectors.get("namespaceSelector") is not None and not any(
        at(selectors.get(kind), how)
        for kind in ("namespaceSelector", "podSelector")
        for how in ("matchLabels", "matchExpressions")
    )


def _is_all_addresses(peer: object) -> bool:
    is_all = str(at(peer, "ipBlock", "cidr")).endswith("/0")
    return is_all and not items(at(peer, "ipBlock", "except"))


def across(manifest: Manifest, settings: Settings, stack: Sequence[Manifest]) -> list[str]:
    """Returns the directions in which nothing is denied by default in a namespace."""
    if manifest.get("kind") != "Namespace" or manifest.get("apiVersion") != "v1":
        return []
    name = at(manifest, "metadata", "name")
    if name in items(settings["namespaces"]) or not _is_judged(manifest, stack):
        return []
    held = {direction for each in stack if _is_for(each, name) for direction in _directions(each)}
    lacking = [str(each) for each in items(settings["directions"]) if each not in held]
    return [f"{describe(manifest)} {_LACKS.format(' and '.join(lacking))}"] if lacking else []


def _is_judged(namespace: Manifest, stack: Sequence[Manifest]) -> bool:
    if TEAM_LABEL in mapping(at(namespace, "metadata", "labels")):
        return True
    name = at(namespace, "metadata", "name")
    return any(pods(each) and at(each, "metadata", "namespace") == name for each in stack)


def _is_for(manifest: Manifest, namespace: object) -> bool:
    return _is_policy(manifest) and at(manifest, "metadata", "namespace") == namespace


def _is_policy(manifest: Manifest) -> bool:
    return manifest.get("kind") == "NetworkPolicy" and str(manifest.get("apiVersion")).startswith(
        "networking.k8s.io/"
    )


def _selects_all(policy: Manifest) -> bool:
    selector = mapping(at(policy, "spec", "podSelector"))
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def _directions(policy: Manifest) -> Iterator[object]:
    if _selects_all(policy):
        implied = ("Ingress", "Egress") if items(at(policy, "spec", "egress")) else ("Ingress",)
        yield from items(at(policy, "spec", "policyTypes")) or implied


KINDS: tuple[Kind, ...] = (("networking.k8s.io", "networkpolicies"),)
_SELECTOR = "object.spec.?podSelector"


def _selects_every(selector: str) -> str:
    return (
        f"size({selector}.?matchLabels.orValue({{}})) == 0 && "
        f"size({selector}.?matchExpressions.orValue([])) == 0"
    )


_ALL_NAMESPACES = (
    f"(has(p.namespaceSelector) && {_selects_every('p.?namespaceSelector')} && "
    f"{_selects_every('p.?podSelector')})"
)
_EVERYBODY = (
    f"(size(r.?from.orValue([])) == 0 || r.?from.orValue([]).exists(p, {_ALL_NAMESPACES} || "
    "(p.?ipBlock.?cidr.orValue('').endsWith('/0') && "
    "size(p.?ipBlock[?'except'].orValue([])) == 0)))"
)

RULE = Rule(
    id=ID,
    sentence="A namespace with pods must deny by default what its network policies do not allow.",
    why=(
        "Without a policy every pod of the cluster reaches every other one: jobs of one team reach "
        "the notebooks, metrics and data loaders of all others."
    ),
    source="https://kubernetes.io/docs/concepts/services-networking/network-policies/",
    schema={
        **schema(
            "network-policy",
            "Namespaces of charts and of pods in the host's network, where no policy holds.",
        ),
        "directions": {
            "type": "array",
            "items": {"type": "string", "enum": ["Ingress", "Egress"]},
            "default": ["Ingress"],
            "description": "Directions in which traffic must be denied by default.",
        },
    },
    predicate=violations,
    across=across,
    admission=of_object(
        KINDS,
        _selects_every(_SELECTOR),
        [
            Fault(
                broken=(
                    f"object.spec.?ingress.orValue([]).exists(r, {_EVERYBODY} && "
                    "size(r.?ports.orValue([])) == 0)"
                ),
                says=cel.literal(_OPEN),
            )
        ],
    ),
)
