"""What rules know of the pools: lines of text, so that both gates read the same.

A setting `pools` has a line for each pool: its name and facts that the rule asks about, with blanks
between them. `policies.pools` writes the lines of an environment; without any there is nothing to
hold a pod to. A pod says its pool by the node selector `fleet.gpu/pool`; one that says none may run
on any, and is refused only where no pool would do. What a pod asks for is the least that it can
have: its containers and sidecars together, or one of its init containers where that asks for more.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from policies.language import cel
from policies.language.manifest import at, items, quantity
from policies.language.pods import Pod, asked
from policies.language.rule import Settings

POOL = "fleet.gpu/pool"
MIB = 1 << 20
_NAME = "[a-z0-9-]+"


class Malformed(ValueError):  # noqa: N818  # it says what is malformed, and becomes a sentence
    """A quantity that nobody can read; the text is the resource."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A resource by the name that a rule gives it."""

    name: str
    resource: str


def schema(facts: str, description: str) -> Mapping[str, Mapping[str, object]]:
    """The schema of a setting `pools`; `facts` is the pattern of what follows a pool's name."""
    return {
        "pools": {
            "type": "array",
            "items": {"type": "string", "pattern": f"^{_NAME}{facts}$"},
            "default": [],
            "description": description,
        }
    }


def selected(pod: Pod) -> str:
    """The pool that a pod selects, empty where it selects none."""
    return str(at(pod.spec, "nodeSelector", POOL) or "")


def speaks(pod: Pod, of: Sequence[str]) -> bool:
    """Whether a container names one of the resources."""
    return any(asked(each, resource) is not None for each in pod.containers for resource in of)


def lines(settings: Settings, pool: str) -> list[list[str]]:
    """The facts of the pools on which a pod could run, each with the pool's name first."""
    every = [str(line).split(" ") for line in items(settings["pools"])]
    return [line for line in every if pool in ("", line[0])]


def total(pod: Pod, resource: str) -> float:
    """The least of a resource that the pod can ever ask for; raises Malformed."""
    first = {
        at(each, "name") or ""
        for each in items(pod.spec.get("initContainers"))
        if at(each, "restartPolicy") != "Always"
    }
    amounts = [(each.get("name") or "", amount(each, resource)) for each in pod.containers]
    together = sum(number for name, number in amounts if name not in first)
    return max([together, *(number for name, number in amounts if name in first)])


def amount(container: Mapping[str, object], resource: str) -> float:
    """What a container asks for of a resource, 0 for nothing; raises Malformed."""
    value = asked(container, resource)
    found = Decimal(0) if value is None else quantity(value)
    if found is None:
        raise Malformed(resource)
    return float(found)


def misfit(
    settings: Settings,
    pool: str,
    fits: Callable[[Sequence[str]], bool],
    says: str,
    must: str = "must ask for",
) -> str | None:
    """What a pod must ask for where no line that concerns it fits; `says` is filled with facts."""
    concerned = lines(settings, pool)
    if not concerned or any(fits(line) for line in concerned):
        return None
    return f"{must} {' or '.join(says.format(*line) for line in concerned)}."


def asks(
    columns: Sequence[Column], of: Sequence[str], *, always: bool = False, also: str = "false"
) -> str:
    """CEL: each pod that speaks of a resource in `of`; none where no pool is known, unless asked.

    And each of which `also` holds, CEL over the pod `p`.

    It has its `name`, `pool` and `containers`, and its total of each column.
    """
    values = ", ".join(f"'{each.name}': dyn({_total(each.resource)})" for each in columns)
    pool = f"p.spec.?nodeSelector[?'{POOL}'].orValue('')"
    speaks = " || ".join(f"{cel.asked('c', each)}.hasValue()" for each in of)
    every = "variables.pods" if always else "(size(variables.lines) == 0 ? [] : variables.pods)"
    return (
        f"{every}.filter(p, {also} || p.containers.exists(c, {speaks}))"
        f".map(p, {{'name': dyn(p.name), 'pool': dyn({pool}), "
        f"'containers': dyn(p.containers), {values}}})"
    )


def cel_amount(container: str, resource: str) -> str:
    """CEL: what a container asks for of a resource, as a double."""
    value = cel.asked(container, resource)
    number = f"{cel.amount(f'{value}.value()')}.asApproximateFloat()"
    return f"({value}.hasValue() ? {number} : 0.0)"


def cel_asks_for(condition: str) -> str:
    """CEL: whether the pod `p` asks for some of a resource `k` of which the condition holds."""
    return (
        f"p.containers.exists(c, {cel.RESOURCES}.exists(r, r.exists(k, "
        f"{condition} && '%s'.format([r[k]]) != '0')))"
    )


def _total(resource: str) -> str:
    first = (
        f"{cel.listed('p.spec', 'initContainers')}.exists(i, i.?name.orValue('') == found && "
        "i.?restartPolicy.orValue('') != 'Always')"
    )
    is_first = f"[c.?name.orValue('')].exists(found, {first})"
    number = cel_amount("c", resource)
    together = f"p.containers.filter(c, !{is_first}).map(c, {number}).sum()"
    return f"([{together}] + p.containers.filter(c, {is_first}).map(c, {number})).max()"


def cel_lines(rule_id: str) -> str:
    """CEL: the facts of every pool, a list of texts each."""
    return f"{cel.setting(rule_id, 'pools')}.split(',').filter(e, e != '').map(e, e.split(' '))"


def cel_misfit(
    fits: str, says: str, must: str = "must ask for", *, known: str = "variables.lines"
) -> cel.Fault:
    """The fault of `misfit`: `fits` and `says` are CEL over the pod `p` and the facts `e`.

    The pod has the name of its pool in `p.pool`, see `asks` and `pooled`.
    """
    concerned = f"{known}.filter(e, p.pool == '' || e[0] == p.pool)"
    return cel.Fault(
        broken=f"(size({concerned}) > 0 && !{concerned}.exists(e, {fits}))",
        says=f"'{must} ' + {concerned}.map(e, {says}).join(' or ') + '.'",
    )


def pooled(pods: str) -> str:
    """CEL: pods of `cel.PODS` with the name of the pool that they select as `pool`."""
    pool = f"p.spec.?nodeSelector[?'{POOL}'].orValue('')"
    return (
        f"({pods}).map(p, {{'name': dyn(p.name), 'pool': dyn({pool}), "
        "'annotations': dyn(p.annotations), 'containers': dyn(p.containers)})"
    )


def filled(says: str) -> str:
    """CEL for a text with `{number}` where a fact goes: the twin of `str.format`."""
    parts = []
    for piece in says.split("{"):
        number, closing, rest = piece.partition("}")
        if closing:
            parts.append(f"e[{number}]")
            parts.append(cel.literal(rest))
        else:
            parts.append(cel.literal(piece))
    return " + ".join(parts)
