"""How rules hold a pod to the pools of its environment, in Python and in CEL.

A pod selects its pool by the node selector `fleet.gpu/pool`, or by required node affinity. One that
selects none may run on any pool, and is refused only where it fits none. The requests of a pod are
those that it has as a whole (`spec.resources`), else those of its containers and sidecars together,
or of one init container where that asks for more. In CEL a pool is `e`, and a pod `p`.

No rule here judges a pod with a quantity that nobody can read: numa/quantities tells of it, once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from string import Formatter
from typing import TypeVar, cast

from policies.language import cel
from policies.language.cel_forms import Fault
from policies.language.facts import KEY, NONE, Facts, Pool
from policies.language.manifest import at, is_true, items, quantity
from policies.language.node_choice import ONLY_POOL, only_pool
from policies.language.pods import Pod, asked, subject
from policies.language.quantities import IS_READABLE
from policies.language.rule import Manifest, Settings

MIB = 1 << 20
_Offer = TypeVar("_Offer", bound=Mapping[str, object])


class Malformed(ValueError):  # noqa: N818  # it says what is malformed, and becomes a sentence
    """A quantity that nobody can read; the text is the resource."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A resource by the name that a rule gives it."""

    name: str
    resource: str


def facts(settings: Settings) -> Facts:
    """Return what is known of the environment."""
    return cast("Facts", {**NONE, **cast("Facts", settings.get(KEY, NONE))})


def selected(pod: Pod) -> str:
    """The pool that a pod selects, empty where it selects none, or one of several."""
    return only_pool(pod)


def open_to(settings: Settings, pool: str) -> list[Pool]:
    """The pools on which a pod that selects this one could run; all where it selects none."""
    return [each for each in facts(settings)["pools"] if pool in ("", each["name"])]


def reaches(pod: Pod, pool: Pool) -> bool:
    """Return whether the RDMA devices of a pool work in the network that a pod has."""
    return is_true(pod.spec.get("hostNetwork")) or not pool["rdma_on_host"]


REACHES = "(p.on_host || !e.rdma_on_host)"
"""CEL: `reaches` of a pod `p` of `with_pools` and a pool `e`."""


def names_resource(pod: Pod, of: Sequence[str]) -> bool:
    """Return whether a pod, or a container of it, names one of the resources."""
    holders = (pod.spec, *pod.containers)
    return any(asked(each, resource) is not None for each in holders for resource in of)


def pod_violations(
    manifest: Manifest, found: Iterable[Pod], fault: Callable[[Pod], str | None]
) -> list[str]:
    """Return a sentence for each pod with a fault."""
    faults = [(pod, fault(pod)) for pod in found]
    return [f"{subject(manifest, pod)} {said}" for pod, said in faults if said]


def total(pod: Pod, resource: str) -> float:
    """The least of a resource that the pod can ever ask for; raises Malformed."""
    of_all = asked(pod.spec, resource)
    if of_all is not None:
        return amount(pod.spec, resource)
    first = {
        at(each, "name") or ""
        for each in items(pod.spec.get("initContainers"))
        if at(each, "restartPolicy") != "Always"
    }
    amounts = [(each.get("name") or "", amount(each, resource)) for each in pod.containers]
    together = sum(number for name, number in amounts if name not in first)
    return max([together, *(number for name, number in amounts if name in first)])


def amount(container: Mapping[str, object], resource: str) -> float:
    """Return the amount of a resource that a container asks for, 0 for none; raises Malformed."""
    value = asked(container, resource)
    found = Decimal(0) if value is None else quantity(value)
    if found is None:
        raise Malformed(resource)
    return float(found)


def no_pool_fits(
    offers: Sequence[_Offer],
    fits: Callable[[_Offer], bool],
    says: str,
    must: str = "must ask for",
) -> str | None:
    """Return what a pod must ask for where no offer fits; `says` names keys of an offer."""
    if not offers or any(map(fits, offers)):
        return None
    return f"{must} {' or '.join(says.format_map(each) for each in offers)}."


def _cel_total() -> str:
    """CEL: `total` of a pod `p` and a `resource`."""
    of_all = cel.asked_by("p.spec", "resource")
    first = (
        f"{cel.listed('p.spec', 'initContainers')}.filter(i, "
        "i.?restartPolicy.orValue('') != 'Always').map(i, i.?name.orValue(''))"
    )
    number = cel_amount("c", "resource")
    return (
        f"({of_all}.hasValue() ? {cel_amount('p.spec', 'resource')} : "
        f"[{first}].map(first, ([p.containers.filter(c, !(c.?name.orValue('') in first))"
        f".map(c, {number}).sum()] + p.containers.filter(c, c.?name.orValue('') in first)"
        f".map(c, {number})).max())[0])"
    )


SELECTED = ONLY_POOL
"""CEL: `selected` of a pod."""


def asking_pods(
    columns: Sequence[Column],
    of: Sequence[str],
    *,
    having: str = "true",
    also: str | None = None,
    always: bool = False,
) -> str:
    """CEL: each readable pod that names a resource in `of`, or of which `also` holds.

    It has its `name`, `pool` and `containers`, its `total` of each column, and the `pools` that are
    open to it and of which `having` holds. Unless `always`, none where there are no such pools.
    """
    resources = cel.literal({each.name: each.resource for each in columns})
    named = " || ".join(f"{cel.asked('c', each)}.hasValue()" for each in of)
    wanted = " || ".join(
        [*([also] if also else []), f"(p.containers + [p.spec]).exists(c, {named})"]
    )
    known = "true" if always else f"variables.pools.exists(e, {having})"
    return (
        f"({known} ? variables.pods : [])"
        f".filter(p, ({wanted}) && {IS_READABLE})"
        f".map(p, {{'name': dyn(p.name), 'pool': dyn({SELECTED}), 'containers': dyn(p.containers), "
        f"'pools': dyn({_open_to(having)}), "
        f"'total': dyn({resources}.transformMap(key, resource, {_cel_total()}))}})"
    )


def with_pools(pods: str, having: str, pool: str = SELECTED) -> str:
    """CEL: pods with the `pools` that are open to each and of which `having` holds.

    `pool` is CEL of the one that a pod `p` is bound to, empty where it is bound to none.

    `on_host` says whether the pod has its host's network.
    """
    on_host = "p.spec.?hostNetwork.orValue(null) == true"
    return (
        f"({pods}).map(p, {{'name': dyn(p.name), 'annotations': dyn(p.annotations), "
        f"'containers': dyn(p.containers), 'on_host': dyn({on_host}), "
        f"'pools': dyn({_open_to(having, pool)})}})"
    )


def cel_amount(container: str, key: str) -> str:
    """CEL: what a container asks for of the resource that is called `key`, as a double."""
    value = cel.asked_by(container, key)
    number = f"{cel.amount(f'{value}.value()')}.asApproximateFloat()"
    return f"({value}.hasValue() ? {number} : 0.0)"


def cel_asks_for(condition: str) -> str:
    """CEL: whether the pod `p` asks for some of a resource `k` of which the condition holds."""
    return (
        f"p.containers.exists(c, {cel.RESOURCES}.exists(r, r.exists(k, "
        f"{condition} && {cel.is_some('r[k]')})))"
    )


def cel_no_pool_fits(fits: str, says: str, must: str = "must ask for") -> Fault:
    """The fault of `no_pool_fits` over `p.pools`; `fits` and `says` are CEL of a pool `e`."""
    return Fault(
        broken=f"size(p.pools) > 0 && !p.pools.exists(e, {fits})",
        says=f"'{must} ' + p.pools.map(e, {says}).join(' or ') + '.'",
    )


def cel_text(says: str, **others: str) -> str:
    """CEL: a text with keys of a pool `e`; `others` are CEL of what it has not itself."""
    keys = {name for _, name, _, _ in Formatter().parse(says) if name is not None}
    return cel.text(says, **{key: others.get(key, f"string(e.{key})") for key in keys})


def _open_to(having: str, pool: str = SELECTED) -> str:
    return (
        f"[{pool}].map(pool, variables.pools.filter(e, {having} && "
        "(pool == '' || e.name == pool)))[0]"
    )
