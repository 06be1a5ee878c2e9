"""Finds quantities that nobody can read, such as a placeholder that was not filled in.

One rule tells of them; every other rule that counts leaves such a pod alone, so that one mistake is
told once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from policies.language.cel import RESOURCES
from policies.language.manifest import at, mapping, quantity
from policies.language.pods import Pod, pods
from policies.language.rule import Manifest


@dataclass(frozen=True, kw_only=True)
class Unreadable:
    """A quantity that is none, in `holder`: a container, or the whole pod where that is empty."""

    resource: str
    value: object


def unreadable(holder: Mapping[str, object]) -> Iterator[Unreadable]:
    """Yields what cannot be read of the limits and requests of a container or of a pod's spec."""
    for part in ("limits", "requests"):
        for name, value in sorted(mapping(at(holder, "resources", part)).items()):
            if value is not None and quantity(value) is None:
                yield Unreadable(resource=name, value=value)


def is_readable(pod: Pod) -> bool:
    """Return whether all quantities of a pod can be read."""
    return not any(True for each in (pod.spec, *pod.containers) for _ in unreadable(each))


def readable_pods(manifest: Manifest) -> list[Pod]:
    """The pods of an object whose quantities can all be read."""
    return [pod for pod in pods(manifest) if is_readable(pod)]


IS_UNREADABLE = "(r[k] != null && !isQuantity('%s'.format([r[k]]).trim()))"
"""CEL: whether the entry `k` of the limits or requests `r` cannot be read."""


def _cel_unreadable(holder: str) -> str:
    return f"{RESOURCES.replace('c.?', f'{holder}.?')}.exists(r, r.exists(k, {IS_UNREADABLE}))"


IS_READABLE = f"!(p.containers + [p.spec]).exists(c, {_cel_unreadable('c')})"
"""CEL: `is_readable` of a pod `p`."""
READABLE_PODS = f"variables.pods.filter(p, {IS_READABLE})"
"""CEL: `readable_pods`."""
