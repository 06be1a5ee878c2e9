"""Which nodes a pod chooses by labels: by its node selector, or by required node affinity.

Terms of an affinity are alternatives: a pod chooses by a label where each of its terms names it.
"""

from collections.abc import Iterator, Mapping, Sequence

from policies.language.manifest import at, items, mapping
from policies.language.pods import Pod
from settings.names import POOL_LABEL

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_TERMS_PATH = ("affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms")


def terms(pod: Pod) -> Sequence[object]:
    """The alternatives of a pod's required node affinity."""
    return items(at(pod.spec, *_TERMS_PATH))


def expressions(term: object, field: str = "matchExpressions") -> list[Mapping[str, object]]:
    """What a term asks of a node's labels, or of its fields."""
    return [mapping(each) for each in items(at(term, field))]


def pools_of(pod: Pod) -> list[str]:
    """The pools that a pod chooses among, by the label of pools; none where it chooses none."""
    own = at(pod.spec, "nodeSelector", POOL_LABEL)
    if own:
        return [str(own)]
    found = [list(_pools_of_term(each)) for each in terms(pod)]
    return [str(name) for of_term in found for name in of_term[0]] if found and all(found) else []


def only_pool(pod: Pod) -> str:
    """The pool that a pod chooses, empty where it chooses none or among several."""
    found = dict.fromkeys(pools_of(pod))
    return next(iter(found)) if len(found) == 1 else ""


def _pools_of_term(term: object) -> Iterator[Sequence[object]]:
    for each in expressions(term):
        if each.get("key") == POOL_LABEL and each.get("operator") == "In":
            yield items(each.get("values"))


TERMS = f"p.spec.?{'.?'.join(_TERMS_PATH)}.orValue([])"
"""CEL: `terms` of a pod `p`."""
_OF_POOLS = (
    f"t.?matchExpressions.orValue([]).filter(x, x.?key.orValue('') == '{POOL_LABEL}' && "
    "x.?operator.orValue('') == 'In').map(x, x.?values.orValue([]))"
)
_OWN = f"p.spec.?nodeSelector[?'{POOL_LABEL}'].orValue('')"
_NAMED = (
    f"({_OWN} != '' ? [[{_OWN}]] : [{TERMS}.map(t, {_OF_POOLS})].map(found, "
    "found.all(f, size(f) > 0) ? found.map(f, f[0]) : [])[0])"
)
CHOOSES_POOL = f"size({_NAMED}) > 0"
"""CEL: whether a pod `p` has `pools_of`."""


def chooses(pool: str) -> str:
    """CEL: whether the pools of a pod `p` have one of this name."""
    return f"{_NAMED}.exists(names, {pool} in names)"


ONLY_POOL = (
    f"[{_NAMED}].map(found, size(found) > 0 && size(found[0]) > 0 && "
    "found.all(f, f.all(name, name == found[0][0])) ? found[0][0] : '')[0]"
)
"""CEL: `only_pool` of a pod `p`."""
