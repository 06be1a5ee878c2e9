"""The faults that somebody asks for, as `spot@5`: what, and how long after the gangs run."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from rehearsal.errors import RehearsalError

Kind = Literal["spot", "node", "link", "etcd", "api", "boot", "capacity"]
KINDS: tuple[Kind, ...] = get_args(Kind)
RENTED: frozenset[Kind] = frozenset({"spot", "boot", "capacity"})
"""What happens to rented machines alone."""
OWNED: frozenset[Kind] = frozenset({"node", "link"})
"""And to owned ones."""
LATEST_S = 600.0


@dataclass(frozen=True, kw_only=True)
class AskedFault:
    """A fault, and when it is put in: so long after the gangs run, and after the one before."""

    kind: Kind
    at_s: float

    @property
    def word(self) -> str:
        """As it is asked for."""
        return f"{self.kind}@{self.at_s:g}"


def asked(words: Iterable[str]) -> tuple[AskedFault, ...]:
    """Read the words of the command line; raises RehearsalError for one that says no fault."""
    return tuple(sorted(map(_asked, words), key=lambda each: each.at_s))


def _asked(word: str) -> AskedFault:
    name, _, at = word.partition("@")
    kind = next((each for each in KINDS if each == name), None)
    seconds = float(at) if re.fullmatch(r"\d+(\.\d+)?", at) else math.inf
    if kind is None or seconds > LATEST_S:
        raise RehearsalError(
            f"--fault {word}: allowed is KIND@SECONDS, such as spot@5, with a kind of "
            f"{', '.join(KINDS)} and 0 to {LATEST_S:.0f} seconds after the gangs run."
        )
    return AskedFault(kind=kind, at_s=seconds)
