"""A line of a machine's configuration, why it is there, and who says so."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Why a line is there, and the public source that says what it does."""

    reason: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line: a kernel argument, a sysctl, a kubelet field, a unit or a limit."""

    text: str
    reason: str
    source: str


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field of KubeletConfiguration with its reason and source."""

    name: str
    value: object
    reason: str
    source: str

    def line(self) -> Line:
        """The field as a line of the plan."""
        return Line(text=f"kubelet {self.name}", reason=self.reason, source=self.source)
