"""Who may reach what by a network policy: selectors, ports and addresses that mean everybody.

A selector that asks for nothing means everybody, and so does one that only says what must not be
there (`DoesNotExist`, `NotIn`), or that asks for a label which each namespace or each pod with GPUs
has. More than half of all ports is all ports.
"""

from collections.abc import Iterable, Sequence

from policies.language import cidrs
from policies.language.manifest import at, items, mapping
from settings.names import PREFIX

MOST_PORTS = 32768
_NAMES_NOBODY = ("DoesNotExist", "NotIn")
_OF_EVERY_NAMESPACE = ("kubernetes.io/metadata.name",)
_OF_EVERY_TEAM = (f"{PREFIX}/", "pod-security.kubernetes.io/")
_OF_EVERY_POD = tuple(
    f"{PREFIX}/{name}" for name in ("team", "cost-centre", "project", "experiment", "branch")
)
"""Labels that every pod with GPUs has, see cost/labels."""


def selects_all(selector: object) -> bool:
    """Return whether a selector asks for nothing at all."""
    return not mapping(at(selector, "matchLabels")) and not items(at(selector, "matchExpressions"))


def names_nobody(selector: object, *, of_namespaces: bool = False) -> bool:
    """Return whether a selector means everybody, or everybody but some."""
    return not mapping(at(selector, "matchLabels")) and all(
        at(each, "operator") in _NAMES_NOBODY
        or (_every_namespace_has(each) if of_namespaces else _every_pod_has(each))
        for each in items(at(selector, "matchExpressions"))
    )


def _every_namespace_has(expression: object) -> bool:
    key = str(at(expression, "key"))
    return at(expression, "operator") == "Exists" and (
        key in _OF_EVERY_NAMESPACE or key.startswith(_OF_EVERY_TEAM)
    )


def _every_pod_has(expression: object) -> bool:
    return at(expression, "operator") == "Exists" and at(expression, "key") in _OF_EVERY_POD


def opens_all_ports(ports: Sequence[object]) -> bool:
    """Return whether the ports of a rule are all of them, or most."""
    if not ports or any(at(each, "port") is None for each in ports):
        return True
    return sum(_count(each) for each in ports) >= MOST_PORTS


def _count(port: object) -> int:
    first, last = at(port, "port"), at(port, "endPort")
    return last - first + 1 if isinstance(first, int) and isinstance(last, int) else 1


def are_everybody(blocks: Iterable[object]) -> bool:
    """Return whether maps with `cidr` and `except` are everybody together."""
    found = [(at(block, "cidr"), items(at(block, "except"))) for block in blocks]
    whole = cidrs.share(cidr for cidr, left_out in found if not left_out)
    parts = (cidrs.share_without(cidr, left_out) for cidr, left_out in found if left_out)
    return whole + sum(parts) >= cidrs.EVERYBODY


def cel_selects_all(selector: str) -> str:
    """CEL: `selects_all` of an optional."""
    return (
        f"(size({selector}.?matchLabels.orValue({{}})) == 0 && "
        f"size({selector}.?matchExpressions.orValue([])) == 0)"
    )


def cel_names_nobody(selector: str, *, of_namespaces: bool = False) -> str:
    """CEL: `names_nobody` of an optional."""
    starts = " || ".join(f"e.key.startsWith('{each}')" for each in _OF_EVERY_TEAM)
    of_all = (
        f"(e.key in {list(_OF_EVERY_NAMESPACE)} || {starts})"
        if of_namespaces
        else f"e.key in {list(_OF_EVERY_POD)}"
    )
    said = f"(e.operator in {list(_NAMES_NOBODY)} || e.operator == 'Exists' && {of_all})"
    return (
        f"(size({selector}.?matchLabels.orValue({{}})) == 0 && "
        f"{selector}.?matchExpressions.orValue([]).all(e, {said}))"
    )


def cel_opens_all_ports(ports: str) -> str:
    """CEL: `opens_all_ports`."""
    count = "has(o.endPort) ? int(o.endPort) - int(o.port) + 1 : 1"
    return (
        f"({ports}.exists(o, !has(o.port)) || size({ports}) == 0 || "
        f"{ports}.map(o, {count}).sum() >= {MOST_PORTS})"
    )


def cel_are_everybody(rules: str, blocks: str) -> str:
    """CEL: `are_everybody` of the blocks `blocks` of all rules `r` in a list."""
    left_out = "b[?'except'].orValue([])"

    def texts(of: str) -> str:
        joined = f"{of}.map(b, b.?cidr.orValue('')).join(' ')"
        return f"{rules}.map(r, {joined}).join(' ').split(' ')"

    part = cidrs.cel_share_without("b.?cidr.orValue('')", left_out)
    parts = f"{rules}.map(r, {blocks}.filter(b, size({left_out}) > 0).map(b, {part}).sum()).sum()"
    plain = cidrs.cel_share(texts(f"{blocks}.filter(b, size({left_out}) == 0)"))
    return (
        f"({cidrs.cel_share_at_most(texts(blocks))} >= {cidrs.EVERYBODY} && "
        f"{plain} + {parts} >= {cidrs.EVERYBODY})"
    )
