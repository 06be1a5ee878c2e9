"""Finds quantities that nobody can read, such as a placeholder that was not filled in.

One rule tells of them; every other rule that counts leaves such a pod alone, so that one mistake is
told once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter

from policies.language.cel import RESOURCES
from policies.language.manifest import at, mapping, quantity
from policies.language.pods import Pod, pods
from policies.language.rule import Manifest

_KNOWN = (str, int, float, list, dict, type(None))


@dataclass(frozen=True, kw_only=True)
class Unreadable:
    """A quantity that is none, in `holder`: a container, or the whole pod where that is empty."""

    resource: str
    value: object


def unreadable(holder: Mapping[str, object]) -> Iterator[Unreadable]:
    """Yields what cannot be read of the limits and requests of a container or of a pod's spec."""
    for name, value in _quantities(holder):
        if not _reads(value):
            yield Unreadable(resource=name, value=value)


def is_readable(pod: Pod) -> bool:
    """Return whether all quantities of a pod that are known can be read."""
    return all(
        _reads(value)
        for holder in (pod.spec, *pod.containers)
        for _, value in _quantities(holder)
        if issubclass(type(value), _KNOWN)  # by `type`, at which an unknown value raises nothing
    )


def _quantities(holder: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for part in ("limits", "requests"):
        yield from sorted(mapping(at(holder, "resources", part)).items(), key=itemgetter(0))


def _reads(value: object) -> bool:
    """Return whether a value is a quantity; a null, which stands for none or for 0, is not."""
    return _is_quantity(str(value)) if isinstance(value, str) else _is_number(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@lru_cache(maxsize=4096)
def _is_quantity(text: str) -> bool:
    return quantity(text) is not None


def readable_pods(manifest: Manifest) -> list[Pod]:
    """The pods of an object whose quantities can all be read."""
    return [pod for pod in pods(manifest) if is_readable(pod)]


IS_UNREADABLE = "!isQuantity('%s'.format([r[k]]).trim())"
"""CEL: whether the entry `k` of the limits or requests `r` cannot be read."""


def _cel_unreadable(holder: str) -> str:
    return f"{RESOURCES.replace('c.?', f'{holder}.?')}.exists(r, r.exists(k, {IS_UNREADABLE}))"


IS_READABLE = f"!(p.containers + [p.spec]).exists(c, {_cel_unreadable('c')})"
"""CEL: `is_readable` of a pod `p`."""
READABLE_PODS = f"variables.pods.filter(p, {IS_READABLE})"
"""CEL: `readable_pods`."""
