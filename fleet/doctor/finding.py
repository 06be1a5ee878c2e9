"""What was looked at, what was found, and what to do about it."""

from dataclasses import dataclass
from typing import Literal

Purpose = Literal["look", "rehearse", "deploy"]
PURPOSES: dict[Purpose, str] = {
    "look": "plans and checks",
    "rehearse": "rehearsals",
    "deploy": "an account",
}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A thing that a purpose needs, or that is useful for it."""

    purpose: Purpose
    what: str
    found: str
    mend: str = ""
    """The command or the step that mends it; empty where nothing is missing."""
    needed: bool = True

    @property
    def missing(self) -> bool:
        """Whether something is missing that is needed."""
        return self.needed and bool(self.mend)
