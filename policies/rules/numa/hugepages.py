"""A pod's huge pages must be there on its pool, and its requests for them must equal its limits.

Huge pages are reserved at boot and cannot be overcommitted: a pod that asks for a size or for more
than its pool has stays pending for good. Any pod may ask for them, with GPUs or without.
"""

from collections.abc import Mapping

from policies.language import cel
from policies.language.cel_forms import Fault, of_pods
from policies.language.facts import Pool
from policies.language.manifest import at, is_some, mapping, quantity
from policies.language.pods import Pod, asked
from policies.language.pool_table import (
    MIB,
    Column,
    asking_pods,
    cel_asks_for,
    cel_no_pool_fits,
    cel_text,
    names_resource,
    no_pool_fits,
    open_to,
    pod_violations,
    selected,
    total,
)
from policies.language.quantities import readable_pods
from policies.language.rule import Manifest, Rule, Settings

_SIZES = ("hugepages-1Gi", "hugepages-2Mi")
_SAYS = (
    "at most {hugepages_1gi_mib}Mi of hugepages-1Gi and {hugepages_2mi_mib}Mi of hugepages-2Mi on "
    "pool '{name}'"
)
_EQUAL = "must have requests equal to limits for huge pages in every container."


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns what is wrong with the huge pages that the pods of an object ask for."""
    asking = (
        pod for pod in readable_pods(manifest) if names_resource(pod, _SIZES) or _has_other(pod)
    )
    return pod_violations(manifest, asking, lambda pod: _fault(pod, settings))


def _fault(pod: Pod, settings: Settings) -> str | None:
    has_other = _has_other(pod)
    pages_1gi, pages_2mi = (total(pod, size) for size in _SIZES)
    if any(_differs(each, size) for each in pod.containers for size in _SIZES):
        return _EQUAL

    def fits(pool: Pool) -> bool:
        return (
            pages_1gi <= pool["hugepages_1gi_mib"] * MIB
            and pages_2mi <= pool["hugepages_2mi_mib"] * MIB
            and not has_other
        )

    if pages_1gi + pages_2mi == 0 and not has_other:
        return None
    return no_pool_fits(open_to(settings, selected(pod)), fits, _SAYS)


def _has_other(pod: Pod) -> bool:
    """Return whether a container asks for huge pages of a size that no pool has."""
    parts = [
        mapping(at(each, "resources", part))
        for each in pod.containers
        for part in ("limits", "requests")
    ]
    asked_for = (found for each in parts for found in each.items())
    return any(_is_other(name) and is_some(amount) for name, amount in asked_for)


def _is_other(name: str) -> bool:
    return name.startswith("hugepages-") and name not in _SIZES


def _differs(container: Mapping[str, object], size: str) -> bool:
    wanted, limit = asked(container, size), at(container, "resources", "limits", size)
    if wanted is None:
        return False
    if limit is None:
        return True
    return quantity(wanted) != quantity(limit)


def _cel_differs(size: str) -> str:
    wanted, limit = cel.asked("c", size), f"c.?resources.?limits[?'{size}']"
    same = f"{cel.amount(f'{wanted}.value()')}.compareTo({cel.amount(f'{limit}.value()')}) == 0"
    return f"({wanted}.hasValue() && !({limit}.hasValue() && {same}))"


_DIFFER = " || ".join(map(_cel_differs, _SIZES))
_OTHER = cel_asks_for(f"k.startsWith('hugepages-') && !(k in {list(_SIZES)})")
_PAGES = cel_no_pool_fits(
    f"!{_OTHER} && p.total.pages_1gi <= double(e.hugepages_1gi_mib) * {MIB}.0 && "
    f"p.total.pages_2mi <= double(e.hugepages_2mi_mib) * {MIB}.0",
    cel_text(_SAYS),
)

RULE = Rule(
    id="numa/hugepages",
    sentence="Huge pages must be on the pool of the pod, with requests equal to limits.",
    why=(
        "Huge pages are reserved at boot and never overcommitted, so a pod that asks for pages "
        "that its pool does not have stays pending for good."
    ),
    source="https://kubernetes.io/docs/tasks/manage-hugepages/scheduling-hugepages/",
    predicate=violations,
    admission=of_pods(
        "variables.asking",
        [
            Fault(broken=f"p.containers.exists(c, {_DIFFER})", says=cel.literal(_EQUAL)),
            Fault(
                broken=(
                    f"(p.total.pages_1gi + p.total.pages_2mi > 0.0 || {_OTHER}) && {_PAGES.broken}"
                ),
                says=_PAGES.says,
            ),
        ],
        variables={
            "asking": asking_pods(
                [
                    Column(name="pages_1gi", resource=_SIZES[0]),
                    Column(name="pages_2mi", resource=_SIZES[1]),
                ],
                of=_SIZES,
                also=_OTHER,
                always=True,
            ),
        },
    ),
)
