"""What a rehearsal does beside bringing an environment up: kills on the way, and its end.

`fleet resume` and `fleet destroy` are what users have for a real account. A rehearsal does not know
them (arrows go one way), so `fleet` hands in what they do.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from rehearsal.engine import Engine
from rehearsal.faults.asked import AskedFault
from settings import Settings


@dataclass(frozen=True, kw_only=True)
class WentOn:
    """What was done after a kill: the creates that were pending, by what became of them."""

    found: tuple[str, ...]  # and in the state now
    not_there: tuple[str, ...]
    useless: tuple[str, ...]  # the next update deletes it
    uninstalled: tuple[str, ...] = ()  # Helm had begun to install it


@dataclass(frozen=True, kw_only=True)
class TakenDown:
    """What `fleet destroy` has done. `protected` are the parts that it had to unprotect by name."""

    protected: Mapping[str, str]  # part -> its resources, counted
    resources: int  # that were deployed
    left: tuple[str, ...]
    failed: str = ""  # why it did not come to its end


Say: TypeAlias = Callable[[str], None]
GoOn: TypeAlias = Callable[[Engine, str], WentOn]
"""Does what `fleet resume` does before its update; the text is the address of Hetzner's API."""
TakeDown: TypeAlias = Callable[[Engine, Settings, str, Say], TakenDown]
"""Does what `fleet destroy` does, every protected part named."""


@dataclass(frozen=True, kw_only=True)
class Extras:
    """`kills` of the engine, at steps that follow from `seed`; `faults` of what runs.

    `destroy` takes all down.
    """

    go_on: GoOn
    take_down: TakeDown
    kills: int = 0
    seed: int = 0
    faults: tuple[AskedFault, ...] = ()
    destroy: bool = False
