"""Times that a rehearsal shortens, each by the same factor, so that one has the length of another.

Nothing else of what the program declares is changed; controllers keep their own timers. What the
engine reads back is what was declared, so that a refresh finds no difference.
"""

import re
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from rehearsal.providers.values import Properties

FACTOR = 60
BOOT_S = 300
"""From the request of a rented machine to its kubelet; assumed, with eight GPUs to set up."""
NODE_POOL = ("karpenter.sh/v1", "NodePool")
_MINUTES = re.compile(r"(\d+)m")


@dataclass(frozen=True, kw_only=True)
class Shortened:
    """A time that the twin has in place of the real one; in seconds."""

    what: str
    real_s: float
    twin_s: float

    @property
    def factor(self) -> float:
        """How many times shorter it is."""
        return self.real_s / self.twin_s


BOOT = Shortened(what="boot of a rented machine", real_s=BOOT_S, twin_s=BOOT_S / FACTOR)


def consolidation(pool: Properties) -> Shortened | None:
    """Return the time after which Karpenter removes an idle machine of a declared NodePool."""
    found = _minutes(pool)
    if found is None:
        return None
    spec: Any = pool.get("metadata")
    name = spec.get("name") if isinstance(spec, dict) else ""
    real_s = 60.0 * found
    return Shortened(
        what=f"consolidateAfter of NodePool {name}", real_s=real_s, twin_s=real_s / FACTOR
    )


def for_twin(declared: Properties) -> Properties:
    """Return the object as the twin's API server gets it."""
    minutes = _minutes(declared)
    return declared if minutes is None else _with(declared, f"{minutes * 60 // FACTOR}s")


def as_declared(live: Properties, declared: Properties) -> Properties:
    """Return a live object with the declared time where it has the shortened one."""
    if _after(live) is None or _after(live) != _after(for_twin(declared)):
        return live
    return _with(live, str(_after(declared)))


def _minutes(found: Properties) -> int | None:
    if (found.get("apiVersion"), found.get("kind")) != NODE_POOL:
        return None
    whole = _MINUTES.fullmatch(str(_after(found)))
    return int(whole[1]) if whole else None


def _after(found: Properties) -> object:
    match found.get("spec"):
        case {"disruption": {"consolidateAfter": str(after)}}:
            return after
        case _:
            return None


def _with(found: Properties, after: str) -> Properties:
    changed: dict[str, Any] = deepcopy(dict(found))
    changed["spec"]["disruption"]["consolidateAfter"] = after
    return changed
