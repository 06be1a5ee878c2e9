"""A pod's huge pages must be there on its pool, and its requests for them must equal its limits.

Huge pages are reserved at boot and cannot be overcommitted: a pod that asks for a size or for more
than its pool has stays pending for good. Any pod may ask for them, with GPUs or without.
"""

from collections.abc import Mapping, Sequence

from policies.language import cel
from policies.language.manifest import at, mapping, quantity
from policies.language.pods import Pod, asked, pods, subject
from policies.language.pool_table import (
    MIB,
    Column,
    Malformed,
    asks,
    cel_asks_for,
    cel_lines,
    cel_misfit,
    filled,
    misfit,
    schema,
    selected,
    speaks,
    total,
)
from policies.language.rule import Manifest, Rule, Settings

_ID = "numa/hugepages"
_SIZES = ("hugepages-1Gi", "hugepages-2Mi")
_SAYS = "at most {1}Mi of hugepages-1Gi and {2}Mi of hugepages-2Mi on pool '{0}'"
_EQUAL = "must have requests equal to limits for huge pages in every container."


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns what is wrong with the huge pages that the pods of an object ask for."""
    told = []
    for pod in pods(manifest):
        if not (speaks(pod, _SIZES) or _has_other(pod)):
            continue
        try:
            fault = _fault(pod, settings)
        except Malformed as resource:
            fault = f"must have a well-formed quantity of {resource}."
        if fault:
            told.append(f"{subject(manifest, pod)} {fault}")
    return told


def _fault(pod: Pod, settings: Settings) -> str | None:
    has_other = _has_other(pod)
    one_gib, two_mib = (total(pod, size) for size in _SIZES)
    if any(_differs(each, size) for each in pod.containers for size in _SIZES):
        return _EQUAL

    def fits(facts: Sequence[str]) -> bool:
        there = one_gib <= float(facts[1]) * MIB and two_mib <= float(facts[2]) * MIB
        return there and not has_other

    if one_gib + two_mib == 0 and not has_other:
        return None
    return misfit(settings, selected(pod), fits, _SAYS)


def _has_other(pod: Pod) -> bool:
    """Whether a container asks for huge pages of a size that no pool has."""
    parts = [
        mapping(at(each, "resources", part))
        for each in pod.containers
        for part in ("limits", "requests")
    ]
    asked_for = (found for each in parts for found in each.items())
    return any(_is_other(name) and str(amount) != "0" for name, amount in asked_for)


def _is_other(name: str) -> bool:
    return name.startswith("hugepages-") and name not in _SIZES


def _differs(container: Mapping[str, object], size: str) -> bool:
    wanted, limit = asked(container, size), at(container, "resources", "limits", size)
    if wanted is None:
        return False
    if limit is None:
        return True
    if quantity(limit) is None:
        raise Malformed(size)
    return quantity(wanted) != quantity(limit)


def _cel_differs(size: str) -> str:
    wanted, limit = cel.asked("c", size), f"c.?resources.?limits[?'{size}']"
    same = f"{cel.amount(f'{wanted}.value()')}.compareTo({cel.amount(f'{limit}.value()')}) == 0"
    return f"({wanted}.hasValue() && !({limit}.hasValue() && {same}))"


_DIFFER = " || ".join(map(_cel_differs, _SIZES))
_OTHER = cel_asks_for(f"k.startsWith('hugepages-') && !(k in {list(_SIZES)})")
_PAGES = cel_misfit(
    f"!{_OTHER} && p.gib <= double(e[1]) * {MIB}.0 && p.mib <= double(e[2]) * {MIB}.0",
    filled(_SAYS),
)

RULE = Rule(
    id=_ID,
    sentence="Huge pages must be on the pool of the pod, with requests equal to limits.",
    why=(
        "Huge pages are reserved at boot and never overcommitted, so a pod that asks for pages "
        "that its pool does not have stays pending for good."
    ),
    source="https://kubernetes.io/docs/tasks/manage-hugepages/scheduling-hugepages/",
    schema=schema(
        "( [0-9]+){2}",
        "Of each pool its name, then MiB of 1 GiB pages and MiB of 2 MiB pages on a machine.",
    ),
    predicate=violations,
    admission=cel.of_pods(
        "variables.asks",
        [
            cel.Fault(broken=f"p.containers.exists(c, {_DIFFER})", says=cel.literal(_EQUAL)),
            cel.Fault(
                broken=f"((p.gib + p.mib > 0.0 || {_OTHER}) && {_PAGES.broken})", says=_PAGES.says
            ),
        ],
        variables={
            "lines": cel_lines(_ID),
            "asks": asks(
                [
                    Column(name="gib", resource=_SIZES[0]),
                    Column(name="mib", resource=_SIZES[1]),
                ],
                of=_SIZES,
                always=True,
                also=_OTHER,
            ),
        },
    ),
)
