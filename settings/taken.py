"""The machines that an update takes from running work, and the most that `allow:` lets it take.

No update reinstalls an owned machine: that is `fleet reinstall` alone, one at a time.

The program compares what is deployed with what the stack file says (`stacks.allowance`), and
`fleet preview` counts the engine's own steps (`fleet.preview.taken`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from settings.names import PROJECT
from settings.types import Allow

NAMES_SHOWN = 6
_VERBS = {
    "replace": ("replaces or deletes", "server", "which ends their pods"),
    "drain": ("drains", "machine", "which ends their pods"),
}


@dataclass(frozen=True, kw_only=True)
class Taken:
    """The number of machines by name, for each thing that an update may do to a machine.

    A NodePool of Karpenter stands for as many machines as its limit allows.
    """

    replace: Mapping[str, int] = field(default_factory=dict)
    drain: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Machines:
    """The machines of an environment at one time.

    `servers` has what each server of Hetzner boots from, None where that is not known; `hosts` the
    owned machines and `leaving` those of them that were or are to be drained; `rented` the most
    machines of each NodePool.
    """

    servers: Mapping[str, str | None]
    hosts: frozenset[str]
    leaving: frozenset[str]
    rented: Mapping[str, int]


def taken(before: Machines, after: Machines) -> Taken:
    """Return what an update from `before` to `after` does to the machines of `before`."""
    return Taken(
        replace={
            name: 1
            for name, boots in before.servers.items()
            if name not in after.servers or boots not in {None, after.servers[name]}
        },
        drain={
            **dict.fromkeys(sorted((after.leaving - before.leaving) & before.hosts), 1),
            **{name: most for name, most in before.rented.items() if name not in after.rented},
        },
    )


def beyond(found: Taken, allow: Allow) -> Iterator[str]:
    """Yield a sentence for each thing that an update does to more machines than is allowed."""
    for key, sentence, number, limit in _counted(found, allow):
        if number > limit:
            yield (
                f"{sentence}, and {PROJECT}:allow.{key} is {limit}; set it to {number} for this "
                "update where that is meant."
            )


def within(found: Taken, allow: Allow) -> Iterator[str]:
    """Yield a sentence for each thing that an update does to as many machines as is allowed."""
    for key, sentence, number, limit in _counted(found, allow):
        if number <= limit:
            yield f"{sentence}; {PROJECT}:allow.{key} is {limit}"


def _counted(found: Taken, allow: Allow) -> Iterator[tuple[str, str, int, int]]:
    """Yield the key, the sentence without its end, the number and the limit of what happens."""
    for key, names, limit in (
        ("replace", found.replace, allow.replace),
        ("drain", found.drain, allow.drain),
    ):
        if number := sum(names.values()):
            verb, noun, then = _VERBS[key]
            machines = f"{number} {noun}" if number == 1 else f"{number} {noun}s"
            yield key, f"This update {verb} {machines} ({_shown(names)}), {then}", number, limit


def _shown(names: Mapping[str, int]) -> str:
    in_order = sorted(names.items(), key=lambda each: (len(each[0]), each[0]))  # 10 after 9
    told = [name if most == 1 else f"{name}: up to {most}" for name, most in in_order]
    rest = len(told) - NAMES_SHOWN
    return ", ".join(told[:NAMES_SHOWN] + ([f"{rest} more"] if rest > 0 else []))
