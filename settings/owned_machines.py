"""What no update does to an owned machine, whatever `allow:` says: the program refuses it.

An update takes no BareMetalHost of a machine that has not left. It changes not how Metal3 reaches
the machine: baremetal-operator v0.13.2 refuses that (validateChanges in
internal/webhooks/metal3.io/v1alpha1/baremetalhost_validation.go), in the middle of the update. And
it makes no second host of a BMC, because hosts are made before others are deleted: the deletion of
the old host would wipe what the new one has installed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from settings.bmc import same_bmc

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
    """A machine's host: its name, its pool by id, and how Metal3 reaches it, None if not known."""

    name: str
    pool: str
    bmc_address: str | None
    boot_mac_address: str | None


@dataclass(frozen=True, kw_only=True)
class OwnedMachines:
    """The owned machines of an environment as its last update left them.

    `joined` are those whose nodes were Ready, or are leaving: Metal3 has registered their hosts.
    `left` are those that were drained, and let go by Metal3 where they keep their system.
    """

    hosts: Sequence[Host]
    joined: frozenset[str]
    left: frozenset[str]


def refused(before: OwnedMachines, after: Sequence[Host]) -> Iterator[str]:
    """Yield a sentence for each machine to which the stack file's `after` does what none may."""
    now = {host.name: host for host in after}
    there = {(host.pool, host.name) for host in before.hosts}
    by_bmc = {same_bmc(host.bmc_address): host for host in after if host.bmc_address}
    for old in before.hosts:
        name, new = old.name, now.get(old.name)
        heir = by_bmc.get(same_bmc(old.bmc_address)) if old.bmc_address else None
        if new is not None and new.pool != old.pool:
            yield _moves(old, new, left=name in before.left)
        elif new is not None:
            yield from _changes(old, new, joined=name in before.joined)
        elif name not in before.left:
            yield f"{name} is a machine whose entry is gone, and it has not left: {TWO_UPDATES}"
        elif heir is not None and (heir.pool, heir.name) not in there:
            yield (
                f"{heir.name} has the BMC of {name}, whose host is there until the end of this "
                f"update and would drive the same machine: update without {heir.name} first, and "
                "enter it with the next update."
            )


def _moves(old: Host, new: Host, *, left: bool) -> str:
    leave = "" if left else "put the entry back there with `leaving: true`, update, "
    return (
        f"{old.name} is a machine of the pool {old.pool}, and the stack file has it in "
        f"{new.pool}: two hosts would drive one BMC, and the end of the old one wipes the machine. "
        f"It moves in steps: {leave}take the entry out, update, and enter the machine in "
        f"{new.pool}. A pool with a new name needs `was:` with the first one."
    )


def _changes(old: Host, new: Host, *, joined: bool) -> Iterator[str]:
    # Metal3 takes another address while it has not reached a machine yet, never another MAC
    if joined and _differ(old.bmc_address, new.bmc_address):
        yield _another(old.name, "bmc_address", old.bmc_address, new.bmc_address)
    if _differ(_folded(old.boot_mac_address), _folded(new.boot_mac_address)):
        yield _another(old.name, "boot_mac_address", old.boot_mac_address, new.boot_mac_address)


def _another(name: str, field: str, old: str | None, new: str | None) -> str:
    return (
        f"{name} has the {field} {old}, and the stack file says {new}, which Metal3 refuses: "
        f"{ENTER_AGAIN}"
    )


def _folded(mac: str | None) -> str | None:
    return None if mac is None else mac.casefold()


def _differ(old: str | None, new: str | None) -> bool:
    return old is not None and new is not None and old != new
