"""What no update does to an owned machine, whatever `allow:` says: the program refuses it.

An update neither takes the BareMetalHost of a machine that has not left, nor changes how Metal3
reaches the machine: baremetal-operator v0.13.2 refuses both changes (validateChanges in
internal/webhooks/metal3.io/v1alpha1/baremetalhost_validation.go), in the middle of the update.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

TWO_UPDATES = (
    "put the entry back with `leaving: true` (or `leaving: detach`), update, and take it out with "
    "the next update. The first update drains the machine, the second gives it away. A pool or a "
    "site with a new name needs `was:` with the first one."
)

ENTER_AGAIN = (
    "put the old one back with `leaving: true` (or `leaving: detach` where the old BMC does not "
    "answer any more), update, take the entry out, update, and enter the machine again."
)


@dataclass(frozen=True, kw_only=True)
class Host:
    """How Metal3 reaches a machine; None where that is not known."""

    bmc_address: str | None
    boot_mac_address: str | None


@dataclass(frozen=True, kw_only=True)
class OwnedMachines:
    """The owned machines of an environment as its last update left them.

    `joined` are those whose nodes were Ready, or are leaving: Metal3 has registered their hosts.
    `left` are those that were drained, and let go by Metal3 where they keep their system.
    """

    hosts: Mapping[str, Host]
    joined: frozenset[str]
    left: frozenset[str]


def refused(before: OwnedMachines, after: Mapping[str, Host]) -> Iterator[str]:
    """Yield a sentence for each machine to which the stack file's `after` does what none may."""
    for name, old in before.hosts.items():
        new = after.get(name)
        if new is None:
            if name not in before.left:
                yield f"{name} is a machine whose entry is gone, and it has not left: {TWO_UPDATES}"
            continue
        # Metal3 takes another address while it has not reached a machine yet, never another MAC
        if name in before.joined and _differ(old.bmc_address, new.bmc_address):
            yield _another(name, "bmc_address", old.bmc_address, new.bmc_address)
        if _differ(_folded(old.boot_mac_address), _folded(new.boot_mac_address)):
            yield _another(name, "boot_mac_address", old.boot_mac_address, new.boot_mac_address)


def _another(name: str, field: str, old: str | None, new: str | None) -> str:
    return (
        f"{name} has the {field} {old}, and the stack file says {new}, which Metal3 refuses: "
        f"{ENTER_AGAIN}"
    )


def _folded(mac: str | None) -> str | None:
    return None if mac is None else mac.casefold()


def _differ(old: str | None, new: str | None) -> bool:
    return old is not None and new is not None and old != new
