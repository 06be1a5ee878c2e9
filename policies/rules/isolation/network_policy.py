"""The namespace of a team, and any in which the stack runs pods, must deny traffic by default.

The stack must have a NetworkPolicy that selects all pods of the namespace in each direction of the
setting, or a policy of Cilium that does; it denies what it does not allow. A policy that selects
all pods and lets in everybody is refused: at all ports or most of them, and from no peer, all pods
of all namespaces, a sixteenth of all addresses or more, or Cilium's entities `all`, `cluster` and
`world`, also by their reserved labels. A CiliumCIDRGroup with as many addresses is refused, because
policies that refer to it show none. A selector that names nobody (`DoesNotExist`, `NotIn`) means
everybody. The label `fleet.gpu/team` marks the namespace of a team. Namespaces of charts are exempt
by a setting.
"""

from collections.abc import Iterator, Sequence

from policies.language import cel, cilium, reach
from policies.language.cel_forms import Fault, of_object
from policies.language.manifest import at, describe, items, mapping
from policies.language.pods import pods
from policies.language.rule import Kind, Manifest, Rule, Settings
from policies.language.stack import of_kinds
from policies.language.system_namespaces import schema
from settings.names import TEAM_LABEL

ID = "isolation/network-policy"
_POLICIES = ("NetworkPolicy", cilium.OF_ONE_NAMESPACE, cilium.OF_ALL)
_LACKS = "must have a NetworkPolicy that selects all its pods, for {}."
_OPEN = "must not let everybody reach all pods of its namespace."
_GROUP = "must not have the addresses of everybody; a policy says that by the entity world."


def violations(manifest: Manifest, _settings: Settings) -> list[str]:
    """Returns a policy that selects all pods and denies nothing."""
    if cilium.is_wide_group(manifest):
        return [f"{describe(manifest)} {_GROUP}"]
    is_open = _is_open(manifest) if _is_policy(manifest) else _is_open_of_cilium(manifest)
    return [f"{describe(manifest)} {_OPEN}"] if is_open else []


def _is_open_of_cilium(manifest: Manifest) -> bool:
    return cilium.is_policy(manifest) and cilium.is_open(manifest)


def _is_open(policy: Manifest) -> bool:
    types = items(at(policy, "spec", "policyTypes"))
    is_of_ingress = not types or "Ingress" in types  # else what it says of ingress is not read
    if not is_of_ingress or not reach.names_nobody(at(policy, "spec", "podSelector")):
        return False
    rules = items(at(policy, "spec", "ingress"))
    wide = [rule for rule in rules if reach.opens_all_ports(items(at(rule, "ports")))]
    peers = [items(at(rule, "from")) for rule in wide]
    if any(not each or any(map(_is_all_namespaces, each)) for each in peers):
        return True
    return reach.are_everybody(at(peer, "ipBlock") for each in peers for peer in each)


def _is_all_namespaces(peer: object) -> bool:
    selectors = mapping(peer)
    return (
        selectors.get("namespaceSelector") is not None
        and reach.names_nobody(selectors["namespaceSelector"], of_namespaces=True)
        and reach.names_nobody(selectors.get("podSelector"))
    )


def across(manifest: Manifest, settings: Settings, stack: Sequence[Manifest]) -> list[str]:
    """Returns the directions in which nothing is denied by default in a namespace."""
    if manifest.get("kind") != "Namespace" or manifest.get("apiVersion") != "v1":
        return []
    name = at(manifest, "metadata", "name")
    if name in items(settings["namespaces"]) or not _is_judged(manifest, stack):
        return []
    policies = of_kinds(stack, *_POLICIES)
    held = {direction for each in policies for direction in _directions(each, name)}
    lacking = [str(each) for each in items(settings["directions"]) if each not in held]
    return [f"{describe(manifest)} {_LACKS.format(' and '.join(lacking))}"] if lacking else []


def _is_judged(namespace: Manifest, stack: Sequence[Manifest]) -> bool:
    if TEAM_LABEL in mapping(at(namespace, "metadata", "labels")):
        return True
    name = at(namespace, "metadata", "name")
    return any(at(each, "metadata", "namespace") == name and pods(each) for each in stack)


def _is_policy(manifest: Manifest) -> bool:
    return manifest.get("kind") == "NetworkPolicy" and str(manifest.get("apiVersion")).startswith(
        "networking.k8s.io/"
    )


def _directions(policy: Manifest, namespace: object) -> Iterator[object]:
    """Yield the directions in which a policy denies by default in a namespace."""
    if cilium.is_policy(policy):
        yield from cilium.denies_in(policy, namespace)
    elif (
        _is_policy(policy)
        and at(policy, "metadata", "namespace") == namespace
        and reach.selects_all(at(policy, "spec", "podSelector"))
    ):
        implied = ("Ingress", "Egress") if items(at(policy, "spec", "egress")) else ("Ingress",)
        yield from items(at(policy, "spec", "policyTypes")) or implied


KINDS: tuple[Kind, ...] = (("networking.k8s.io", "networkpolicies"), *cilium.KINDS)
_ALL_NAMESPACES = (
    "(has(p.namespaceSelector) && "
    f"{reach.cel_names_nobody('p.?namespaceSelector', of_namespaces=True)} && "
    f"{reach.cel_names_nobody('p.?podSelector')})"
)
_FROM = "r.?from.orValue([])"
_BLOCKS = f"{_FROM}.filter(p, has(p.ipBlock)).map(p, p.ipBlock)"
_WIDE = (
    "object.spec.?ingress.orValue([])"
    f".filter(r, {reach.cel_opens_all_ports('r.?ports.orValue([])')})"
)
_IS_OF_INGRESS = "[object.spec.?policyTypes.orValue([])].exists(t, size(t) == 0 || 'Ingress' in t)"
_IS_OPEN = (
    f"{_IS_OF_INGRESS} && {reach.cel_names_nobody('object.spec.?podSelector')} && "
    f"[{_WIDE}].exists(w, w.exists(r, size({_FROM}) == 0 || "
    f"{_FROM}.exists(p, {_ALL_NAMESPACES})) || {reach.cel_are_everybody('w', _BLOCKS)})"
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
        "true",
        [
            Fault(broken=cilium.CEL_IS_WIDE_GROUP, says=cel.literal(_GROUP)),
            Fault(
                broken=(
                    f"object.kind == 'NetworkPolicy' ? ({_IS_OPEN}) : "
                    f"object.kind != 'CiliumCIDRGroup' && ({cilium.cel_is_open()})"
                ),
                says=cel.literal(_OPEN),
            ),
        ],
    ),
)
