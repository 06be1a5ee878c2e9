"""Says what a change does to the machines that Karpenter rents, and to Karpenter."""

from collections.abc import Iterator, Mapping

from fleet.preview.pools import PoolChange
from fleet.preview.steps import Step
from settings.names import NODE_POOL, RELEASE

AWS_POOL = "gpu:pools:AwsGpuPool"
DRAIN = "no new machine comes, and the update waits until those that run are drained and ended"


def ending(change: PoolChange) -> Iterator[str]:
    """Yield what becomes of the machines of a pool, or of one of its kinds of capacity, that goes.

    The longest drain is the NodePool's own.
    """
    gone = [step for step in change.steps if step.type == NODE_POOL and step.op == "delete"]
    if change.type != AWS_POOL or not gone:
        return
    limit = max(map(_grace, gone))
    within = f" ({limit} at most)" if limit else ""
    if change.after is None:
        yield f"{DRAIN}{within}"
        return
    names = ", ".join(sorted(step.name for step in gone))
    yield f"NodePool {names} goes: {DRAIN}{within}"


def karpenter(steps: Mapping[str, Step]) -> Iterator[str]:
    """Yield that Karpenter goes, where it does."""
    for step in steps.values():
        if step.type == RELEASE and step.op == "delete" and _chart(step) == "karpenter":
            yield "Karpenter goes, after its last machine has ended"


def _grace(step: Step) -> str:
    spec = (step.old or {}).get("spec") or {}
    template = (spec.get("template") or {}).get("spec") or {}
    return str(template.get("terminationGracePeriod", ""))


def _chart(step: Step) -> str:
    return str((step.old or {}).get("name"))
