"""Describes the changes of each pool in sentences."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from fleet.preview.boot_data import difference
from fleet.preview.leaving import leaving
from fleet.preview.pools import MACHINES, Pool, PoolChange, class_changes
from fleet.preview.rented import ending, karpenter
from fleet.preview.steps import Inputs, Step
from settings.names import NODE_DRAIN, NODE_POOL

# why a machine is replaced, by the property that forces it
REASONS = {
    "userData": "boot data changed",
    "image": "image changed",
    "serverType": "server type changed",
    "location": "location changed",
    "spec.userData": "boot data changed",
}
BARE_METAL_POOL = "gpu:pools:BareMetalPool"
# what new boot data means for the machines that run already, by the component's type
WAITS = {
    BARE_METAL_POOL: "the machines keep their old boot data until `fleet reinstall`",
    "gpu:pools:AwsGpuPool": "Karpenter replaces the running nodes",
}
HETZNER_POOL = "gpu:pools:HetznerPool"
ONE_BY_ONE = " one at a time, drained before and Ready before the next"
# what waits for nodes or for their end, and is told with them
WAITING = tuple(
    f"pulumi-python:dynamic/kube:{kind}"
    for kind in ("HostDetached", "NodeReady", "RentedMachines", "ServerTurn")
)
FOLLOWS = ("userData", "kubelet", "instanceProfile")
CLASS_KEYS = {"amiSelectorTerms": "image", "blockDeviceMappings": "root volume"}
KINDS_SHOWN = 12
SETTINGS_SHOWN = 4  # of the NodePools of one pool
OPS = {"create": "new", "update": "changed", "replace": "replaced", "delete": "removed"}


def sentences(change: PoolChange) -> tuple[str, ...]:
    """Returns the changes of one pool; empty if no user would notice them."""
    before, after = change.before, change.after
    if after is None:
        return (f"goes, with {_inventory(before, change)}", *ending(change)) if before else ()
    if before is None:
        return (f"new at {after.site} for {after.purpose}: {_inventory(after, change)}",)
    return (
        *_machines(change, before, after),
        *leaving(change),
        *_release(change, before, after),
        *_boot_data(change, before, after),
        *_node_class(change, before, after),
        *_limits(before, after),
        *ending(change),
        *_node_pools(change),
    )


def everything_else(changes: Sequence[PoolChange], steps: Mapping[str, Step]) -> tuple[str, ...]:
    """Returns counts by kind of the resources that no pool's sentence covers."""
    told = {
        step.urn
        for change in changes
        for step in change.steps
        if step.type in MACHINES or step.type in (NODE_POOL, NODE_DRAIN, *WAITING)
    }
    counts: dict[str, Counter[str]] = {}
    for step in steps.values():
        if step.op in OPS and step.urn not in told and not step.is_component:
            counts.setdefault(OPS[step.op], Counter())[step.kind] += 1
    others = [f"{word}: {_kinds(counts[word])}" for word in OPS.values() if word in counts]
    return (*karpenter(steps), *others)


def count(number: int, noun: str) -> str:
    """A number with its noun: 1 server, 2 servers."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _kinds(counts: Counter[str]) -> str:
    """Returns the kinds in alphabetical order, without the rarest if there are many."""
    shown = dict(counts.most_common(KINDS_SHOWN))
    told = [f"{shown[kind]} {kind}" for kind in sorted(shown)]
    rest = counts.total() - sum(shown.values())
    return ", ".join([*told, f"{rest} of other kinds"] if rest else told)


def _inventory(pool: Pool | None, change: PoolChange) -> str:
    if pool is None:
        return "nothing"
    if pool.limits:
        return f"up to {sum(pool.limits.values())} GPUs of {pool.hardware}"
    return f"{count(len(pool.machines), change.machine)} ({pool.hardware})"


def _machines(change: PoolChange, before: Pool, after: Pool) -> Iterator[str]:
    steps = [step for step in change.steps if step.type in MACHINES]
    ops = Counter(step.op for step in steps)
    for number, word in ((ops["create"], "more"), (ops["delete"], "fewer")):
        if number:
            yield f"{count(number, change.machine)} {word} ({after.hardware})"
    if ops["replace"]:
        replaced = [step for step in steps if step.op == "replace"]
        told = {REASONS.get(path, path) for step in replaced for path in step.forcing}
        why = ", ".join(sorted(told)) or "it cannot change in place"
        how = ONE_BY_ONE if change.type == HETZNER_POOL else ""
        yield f"{count(ops['replace'], change.machine)} replaced{how}: {why}"
    if before.hardware != after.hardware:
        yield f"hardware {before.hardware} → {after.hardware}"


def _release(change: PoolChange, before: Pool, after: Pool) -> Iterator[str]:
    """Yields another release of Flatcar, which no update installs on an owned machine."""
    if change.type != BARE_METAL_POOL or before.flatcar == after.flatcar:
        return
    told = {*before.machines} & {*after.machines}
    keep = "keeps its" if len(told) == 1 else "keep their"
    yield (
        f"Flatcar {before.flatcar} → {after.flatcar}: {count(len(told), change.machine)} {keep} "
        "installation until `fleet reinstall`"
    )


def _boot_data(change: PoolChange, before: Pool, after: Pool) -> Iterator[str]:
    if before.hardware != after.hardware:
        return
    told = difference(before, after)
    if told:
        waits = WAITS.get(change.type)
        yield f"{told} ({waits})" if waits else told


def _node_class(change: PoolChange, before: Pool, after: Pool) -> Iterator[str]:
    """Yields the other changes of the EC2NodeClass, without boot data and its consequences."""
    same = before.ignition == after.ignition and before.hardware == after.hardware
    follows = FOLLOWS if same else (*FOLLOWS, "tags")
    keys = [key for key in class_changes(change) if key not in follows]
    told = ", ".join(CLASS_KEYS.get(key, key) for key in keys)
    if told:
        yield f"{told} changed" + (f" ({WAITS[change.type]})" if same else "")


def _limits(before: Pool, after: Pool) -> Iterator[str]:
    if before.limits == after.limits:
        return
    old, new = (sum(pool.limits.values()) for pool in (before, after))
    parts = [
        f"{kind} {before.limits.get(kind, 0)} → {after.limits.get(kind, 0)}"
        for kind in sorted({*before.limits, *after.limits})
        if before.limits.get(kind) != after.limits.get(kind)
    ]
    yield f"burst limit {old} → {new} GPUs ({', '.join(parts)})"


def _node_pools(change: PoolChange) -> Iterator[str]:
    """Yields the other changes of the NodePools by path, without the limits."""
    told: dict[str, None] = {}
    for step in change.steps:
        if step.type == NODE_POOL and step.op in ("update", "replace"):
            old, new = step.old or {}, step.new or {}
            told |= dict.fromkeys(_leaves(old.get("spec") or {}, new.get("spec") or {}, ""))
    yield from list(told)[:SETTINGS_SHOWN]
    if len(told) > SETTINGS_SHOWN:
        yield f"{count(len(told) - SETTINGS_SHOWN, 'more setting')} of its NodePools"


def _said(value: str | int | None) -> str:
    """Returns the value as in a manifest: `false` and 0 are values, too."""
    if isinstance(value, bool):
        return str(value).lower()
    return "unset" if value in (None, "") else str(value)


def _leaves(old: Inputs, new: Inputs, path: str) -> Iterator[str]:
    for key in sorted({*old, *new} - {"limits"}):
        before, after = old.get(key), new.get(key)
        here = f"{path}{key}"
        if before == after or key == "labels":  # the labels are the boot data's
            continue
        if isinstance(before, dict) and isinstance(after, dict):
            yield from _leaves(before, after, f"{here}.")
        elif isinstance(before, str | int | None) and isinstance(after, str | int | None):
            yield f"{key} {_said(before)} → {_said(after)}"
        else:
            yield f"{here} changed"
