"""Counts the machines that an update takes, from the engine's steps."""

from collections.abc import Iterable

from fleet.preview.steps import Step
from policies.language import inventory
from policies.language.manifest import at
from settings.names import NODE_DRAIN, NODE_POOL, SERVER
from settings.taken import Taken


def taken_by(steps: Iterable[Step]) -> Taken:
    """Returns the machines that an update with these steps takes from running work."""
    found = list(steps)
    gone = [step for step in found if step.op in ("replace", "delete")]
    drained = [
        str(at(step.new, "node"))
        for step in found
        if step.type == NODE_DRAIN and step.op == "create"
    ]
    return Taken(
        replace={str(at(step.old, "name") or step.name): 1 for step in gone if step.type == SERVER},
        drain={
            **dict.fromkeys(drained, 1),
            **{step.name: _most(step) for step in gone if step.type == NODE_POOL},
        },
    )


def _most(node_pool: Step) -> int:
    machines = inventory.machines({**(node_pool.old or {}), "kind": "NodePool"})
    return 1 if machines is None else int(machines.count)
