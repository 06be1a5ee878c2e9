"""CiliumNetworkPolicy, CiliumClusterwideNetworkPolicy and CiliumCIDRGroup, as the rules read them.

A policy has one `spec` or several `specs`. A rule without peers is for nobody, unless it names
ports; peers of a policy that name no namespace are those of its own, unless they name a reserved
label such as `reserved:world`. A group has addresses for any policy that refers to it. See
https://docs.cilium.io/en/stable/security/policy/language/.
"""

from collections.abc import Iterator, Mapping

from policies.language import cidrs
from policies.language.manifest import at, is_false, is_true, items, mapping
from policies.language.reach import (
    MOST_PORTS,
    are_everybody,
    cel_are_everybody,
)
from policies.language.rule import Kind, Manifest

_GROUP = "CiliumCIDRGroup"
OF_ONE_NAMESPACE, OF_ALL = "CiliumNetworkPolicy", "CiliumClusterwideNetworkPolicy"
KINDS: tuple[Kind, ...] = (
    ("cilium.io", "ciliumnetworkpolicies"),
    ("cilium.io", "ciliumclusterwidenetworkpolicies"),
    ("cilium.io", "ciliumcidrgroups"),
)
_EVERYBODY = ("all", "cluster", "world", "world-ipv4", "world-ipv6")
_NOBODY = ("DoesNotExist", "NotIn")
_NAMESPACE = "io.kubernetes.pod.namespace"
_SPACE = tuple(
    f"{prefix}{key}"
    for prefix in ("", "any:", "k8s:")
    for key in (_NAMESPACE, "io.cilium.k8s.namespace.labels.")
)
_RESERVED = "reserved:"
_WORLD = tuple(f"{_RESERVED}{each}" for each in ("all", "world", "world-ipv4", "world-ipv6"))
_BEYOND = (*_SPACE, _RESERVED)  # keys of peers that are not those of the policy's namespace
_PEERS = (
    *("fromEndpoints", "fromEntities", "fromCIDR", "fromCIDRSet"),
    *("fromNodes", "fromGroups", "fromRequires", "icmps"),
)


def is_policy(manifest: Manifest) -> bool:
    """Return whether this is a policy of Cilium."""
    is_kind = manifest.get("kind") in (OF_ONE_NAMESPACE, OF_ALL)
    return is_kind and str(manifest.get("apiVersion")).startswith("cilium.io/")


def specs(manifest: Manifest) -> Iterator[Mapping[str, object]]:
    """The parts of a policy."""
    if manifest.get("spec") is not None:
        yield mapping(manifest["spec"])
    yield from map(mapping, items(manifest.get("specs")))


def is_open(manifest: Manifest) -> bool:
    """Return whether a policy lets everybody reach all pods of a namespace."""
    return any(
        spec.get("endpointSelector") is not None
        and _is_of_space(spec["endpointSelector"])
        and _lets_all_in(spec, everywhere=manifest.get("kind") == OF_ALL)
        for spec in specs(manifest)
    )


def _is_of_space(selector: object) -> bool:
    """Return whether a selector names no pods, at most their namespace."""
    return all(key.startswith(_SPACE) for key in mapping(at(selector, "matchLabels"))) and all(
        at(each, "operator") in _NOBODY or str(at(each, "key")).startswith(_SPACE)
        for each in items(at(selector, "matchExpressions"))
    )


def _lets_all_in(spec: Mapping[str, object], *, everywhere: bool) -> bool:
    wide = [rule for rule in items(spec.get("ingress")) if _opens_all(items(at(rule, "toPorts")))]
    if any(_is_for_all(mapping(rule), everywhere=everywhere) for rule in wide):
        return True
    plain = [{"cidr": each} for rule in wide for each in items(at(rule, "fromCIDR"))]
    return are_everybody(
        [*plain, *(each for rule in wide for each in items(at(rule, "fromCIDRSet")))]
    )


def _opens_all(to_ports: object) -> bool:
    return not items(to_ports) or any(_is_all(at(each, "ports")) for each in items(to_ports))


def _is_all(ports: object) -> bool:
    found = items(ports)
    return not found or any(at(each, "port") == "0" for each in found) or _many(found)


def _many(ports: object) -> bool:
    count = 0
    for each in items(ports):
        first, last = str(at(each, "port")), at(each, "endPort")
        is_range = first.isdecimal() and isinstance(last, int) and last > 0
        count += int(str(last)) - int(first) + 1 if is_range else 1
    return count >= MOST_PORTS


def _is_for_all(rule: Mapping[str, object], *, everywhere: bool) -> bool:
    if not any(name in rule for name in _PEERS):
        return "toPorts" in rule
    return any(each in _EVERYBODY for each in items(rule.get("fromEntities"))) or any(
        _is_anybody(each, everywhere=everywhere) for each in items(rule.get("fromEndpoints"))
    )


def _is_anybody(selector: object, *, everywhere: bool) -> bool:
    """Return whether peers are all pods of all namespaces, all but some, or the world."""
    said = [mapping(each) for each in items(at(selector, "matchExpressions"))]
    labels = mapping(at(selector, "matchLabels"))
    keys = [*labels, *(str(each.get("key")) for each in said)]
    return (
        all(key in _WORLD for key in labels)
        and all(map(_leaves_most, said))
        and (everywhere or any(key.startswith(_BEYOND) for key in keys))
    )


def _leaves_most(expression: Mapping[str, object]) -> bool:
    """Return whether what a selector asks for leaves most of all peers, or the world."""
    key, operator = str(expression.get("key")), expression.get("operator")
    is_there = operator == "Exists" or (operator == "In" and "" in items(expression.get("values")))
    return operator in _NOBODY or (
        (key in _WORLD and is_there) or (key.startswith(_SPACE) and operator == "Exists")
    )


def is_wide_group(manifest: Manifest) -> bool:
    """Return whether a group has the addresses of everybody."""
    is_group = manifest.get("kind") == _GROUP
    return (
        is_group
        and str(manifest.get("apiVersion")).startswith("cilium.io/")
        and cidrs.share(items(at(manifest, "spec", "externalCIDRs"))) >= cidrs.EVERYBODY
    )


def denies_in(manifest: Manifest, namespace: object) -> Iterator[str]:
    """Yield the directions in which a policy denies by default all pods of a namespace."""
    own = manifest.get("kind") == OF_ONE_NAMESPACE
    if own and at(manifest, "metadata", "namespace") != namespace:
        return
    for spec in specs(manifest):
        selector = spec.get("endpointSelector")
        labels = mapping(at(selector, "matchLabels"))
        names = {key.removeprefix("k8s:"): value for key, value in labels.items()}
        if selector is None or items(at(selector, "matchExpressions")):
            continue
        if names and names != {_NAMESPACE: namespace}:
            continue
        for direction in ("Ingress", "Egress"):
            rules = direction.lower()
            said = at(spec, "enableDefaultDeny", rules)
            has_rules = items(spec.get(rules)) or items(spec.get(f"{rules}Deny"))
            if is_true(said) or (has_rules and not is_false(said)):
                yield direction


def _starts(key: str, prefixes: tuple[str, ...] = _SPACE) -> str:
    return "(" + " || ".join(f"{key}.startsWith('{each}')" for each in prefixes) + ")"


def _cel_ports(ports: str) -> str:
    is_range = "o.?endPort.orValue(0) > 0 && o.?port.orValue('').matches('^[0-9]+$')"
    count = f"({is_range} ? int(o.endPort) - int(o.port) + 1 : 1)"
    return (
        f"(size({ports}) == 0 || {ports}.exists(o, o.?port.orValue('') == '0') || "
        f"{ports}.map(o, {count}).sum() >= {MOST_PORTS})"
    )


def cel_is_open() -> str:
    """CEL: `is_open` of the object."""
    said = "e.?matchExpressions.orValue([])"
    of_space = (
        f"s.?endpointSelector.?matchLabels.orValue({{}}).all(k, {_starts('k')}) && "
        "s.?endpointSelector.?matchExpressions.orValue([])"
        f".all(x, x.operator in {list(_NOBODY)} || {_starts('x.key')})"
    )
    labels = "e.?matchLabels.orValue({})"
    is_there = "(x.operator == 'Exists' || x.operator == 'In' && '' in x.?values.orValue([]))"
    leaves_most = (
        f"(x.operator in {list(_NOBODY)} || x.key in {list(_WORLD)} && {is_there} || "
        f"x.operator == 'Exists' && {_starts('x.key')})"
    )
    anybody = (
        f"{labels}.all(k, k in {list(_WORLD)}) && {said}.all(x, {leaves_most}) && "
        f"(object.kind == '{OF_ALL}' || {labels}.exists(k, {_starts('k', _BEYOND)}) || "
        f"{said}.exists(x, {_starts('x.key', _BEYOND)}))"
    )
    no_peers = " && ".join(f"!has(r.{name})" for name in _PEERS)
    for_all = (
        f"(({no_peers}) ? has(r.toPorts) : "
        f"(r.?fromEntities.orValue([]).exists(e, e in {list(_EVERYBODY)}) || "
        f"r.?fromEndpoints.orValue([]).exists(e, {anybody})))"
    )
    to_ports = "r.?toPorts.orValue([])"
    all_ports = (
        f"(size({to_ports}) == 0 || {to_ports}.exists(t, {_cel_ports('t.?ports.orValue([])')}))"
    )
    blocks = (
        "(r.?fromCIDR.orValue([]).map(c, {'cidr': dyn(c)}) + "
        "r.?fromCIDRSet.orValue([]).map(c, dyn(c)))"
    )
    parts = "((has(object.spec) ? [object.spec] : []) + object.?specs.orValue([]))"
    return (
        f"{parts}.exists(s, has(s.endpointSelector) && {of_space} && "
        f"[s.?ingress.orValue([]).filter(r, {all_ports})].exists(w, w.exists(r, {for_all}) || "
        f"{cel_are_everybody('w', blocks)}))"
    )


_RANGES = "object.?spec.?externalCIDRs.orValue([])"
CEL_IS_WIDE_GROUP = (
    f"(object.kind == '{_GROUP}' && "
    f"{cidrs.cel_share_at_most(_RANGES)} >= {cidrs.EVERYBODY} && "
    f"{cidrs.cel_share(_RANGES)} >= {cidrs.EVERYBODY})"
)
"""CEL: `is_wide_group` of the object."""
