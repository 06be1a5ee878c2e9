"""A finding of a check: one place where the machine is not as planned."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Drift:
    """`check` names the kind of check, `what` the thing; `seen` and `expected` follow "is".

    A critical one means that the machine must not work on; any keeps new pods away, but one whose
    expectation is `unverified`: nobody has confirmed that figure of the catalogue.
    """

    check: str
    what: str
    seen: str
    expected: str
    remedy: str
    critical: bool = False
    unverified: bool = False

    @property
    def sentence(self) -> str:
        """The finding as one sentence with its remedy."""
        doubt = " (not verified)" if self.unverified else ""
        return f"{self.what} is {self.seen}, expected {self.expected}{doubt}: {self.remedy}."


REINSTALL = "Ignition writes this at first boot alone, so drain the node and reinstall it"
REBOOT = "drain the node and reboot it; if it comes back so, reinstall it"
