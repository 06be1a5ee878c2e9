"""Counts the machines that an update takes, from the engine's steps."""

from collections.abc import Iterable

from fleet.preview.steps import Step
from policies.language import inventory
from policies.language.manifest import at
from settings.names import BARE_METAL_HOST, NODE_DRAIN, NODE_POOL, SERVER
from settings.taken import Taken


def taken_by(steps: Iterable[Step]) -> Taken:
    """Returns the machines that an update with these steps takes from running work."""
    found = list(steps)
    left = {at(step.old, "node") for step in found if step.type == NODE_DRAIN and step.old}
    gone = [step for step in found if step.op in ("replace", "delete")]
    hosts = [str(at(step.old, "metadata", "name")) for step in gone if step.type == BARE_METAL_HOST]
    drained = [
        str(at(step.new, "node"))
        for step in found
        if step.type == NODE_DRAIN and step.op == "create"
    ]
    return Taken(
        reinstall={name: 1 for name in hosts if name not in left},
        replace={str(at(step.old, "name") or step.name): 1 for step in gone if step.type == SERVER},
        drain={
            **dict.fromkeys(drained, 1),
            **{step.name: _most(step) for step in gone if step.type == NODE_POOL},
        },
    )


def _most(node_pool: Step) -> int:
    machines = inventory.machines({**(node_pool.old or {}), "kind": "NodePool"})
    return 1 if machines is None else int(machines.count)
