"""Nodes, pods and their series that several tests start from."""

from collections.abc import Iterable, Mapping

from tests.conformance.monitoring.exporters import (
    Device,
    Node,
    Pod,
    Series,
    Value,
    activity,
    steady,
)

GPU = "nvidia.com/gpu"
SLICE = "nvidia.com/mig-1g.18gb"
QUANTS = {
    "fleet.gpu/team": "quants",
    "fleet.gpu/cost-centre": "4711",
    "fleet.gpu/branch": "bt-20261120-a1",
}
OWNER = {"team": "quants", "cost_centre": "4711", "branch": "bt-20261120-a1"}
BUSY, IDLE = steady(0.93), steady(0.0)


def dgx(name: str = "dgx-01", **changed: object) -> Node:
    """A node of eight whole GPUs."""
    given: dict[str, object] = {"name": name, "capacity": {GPU: 8}, **changed}
    return Node(**given)  # type: ignore[arg-type]  # the caller names fields of Node


def gang(pod: str, node: str = "dgx-01", gpus: int = 8, **changed: object) -> list[Device]:
    """The first GPUs of a node, held by a pod."""
    given: dict[str, object] = {"node": node, "pod": pod, **changed}
    return [Device(index=index, **given) for index in range(gpus)]  # type: ignore[arg-type]  # as above


def series(
    *objects: Node | Pod,
    devices: Mapping[Device, tuple[Value, ...]] | None = None,
    more: Iterable[Series] = (),
) -> list[Series]:
    """All series: of nodes and pods, the devices' activity, and what is given besides."""
    measured = [
        each for device, samples in (devices or {}).items() for each in activity([device], samples)
    ]
    return [each for thing in objects for each in thing.series()] + measured + list(more)
