"""Says what a change does to machines that leave their pool, or stop leaving."""

from collections.abc import Iterator

from fleet.preview.pools import PoolChange
from fleet.preview.steps import Step
from kube.metal3 import DETACHED
from settings.names import BARE_METAL_HOST, NODE_DRAIN


def leaving(change: PoolChange) -> Iterator[str]:
    """Yield a sentence for each machine that is drained, given away, or stays after all."""
    hosts = {_name(step): step for step in change.steps if step.type == BARE_METAL_HOST}
    for step in change.steps:
        if step.type != NODE_DRAIN:
            continue
        name = str((step.new or step.old or {}).get("node"))
        host = hosts.get(name)
        if step.op == "create":
            yield (
                f"{name} leaves: its node is cordoned, and the update waits until its jobs have "
                f"ended; the machine stays installed until its entry goes, then {_then(host)}"
            )
        elif step.op == "delete" and host is not None and host.op == "delete":
            yield f"{name} goes: {_then(host)}"
        elif step.op == "delete":
            yield f"{name} stays: its node takes pods again"


def _then(host: Step | None) -> str:
    inputs = (host.new or host.old if host else None) or {}
    annotations = (inputs.get("metadata") or {}).get("annotations") or {}
    if DETACHED in annotations:
        return "Metal3 forgets it and leaves its disks and its power as they are"
    return "Metal3 wipes its partition tables and powers it off"


def _name(step: Step) -> str:
    metadata = (step.new or step.old or {}).get("metadata") or {}
    return str(metadata.get("name"))
