"""A line of a machine's configuration, why it is there, and who says so."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Why a line is there, and the public source that says what it does."""

    reason: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line: a kernel argument, a sysctl or a kubelet field."""

    text: str
    reason: str
    source: str
