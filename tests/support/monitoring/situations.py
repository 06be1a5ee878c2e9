"""Nodes, pods and their series that the tests start from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from components.platform.monitoring.idle_alerts import IdleLimits
from tests.support.monitoring.exporters import Device, Series, Value, activity, steady, turn
from tests.support.monitoring.kube_state_metrics import Node, Pod
from tests.support.monitoring.promtool import LIMITS, Fires

GPU = "nvidia.com/gpu"
SHARED = "nvidia.com/gpu.shared"
"""Time slices, where the device plugin is told to rename them; by default they are GPUs."""
SLICE = "nvidia.com/mig-1g.18gb"
QUANTS = {
    "fleet.gpu/team": "quants",
    "fleet.gpu/cost-centre": "4711",
    "fleet.gpu/branch": "bt-20261120-a1",
}
OWNER = {"team": "quants", "cost_centre": "4711", "branch": "bt-20261120-a1"}
BUSY, IDLE = steady(0.93), steady(0.0)

NODE = {"node": "dgx-01", "pool": "dgx"}
TRAIN = {"namespace": "research", "pod": "train-0"}
GPU0 = {"node": "dgx-01", "gpu": "0", "UUID": "GPU-dgx-01-0"}


@dataclass(frozen=True, kw_only=True)
class Case:
    """An alert, a situation told in words, and what fires after `minutes`."""

    alert: str
    when: str
    series: Sequence[Series]
    minutes: int = 60
    fires: tuple[Fires, ...] = ()
    limits: IdleLimits = LIMITS


def dgx(name: str = "dgx-01", **changed: object) -> Node:
    """A node of eight whole GPUs."""
    given: dict[str, object] = {"name": name, "capacity": {GPU: 8}, **changed}
    return Node(**given)  # type: ignore[arg-type]  # the caller names fields of Node


def train(gpus: int = 8, **changed: object) -> Pod:
    """The pod train-0 of the team quants on dgx-01."""
    given: dict[str, object] = {
        "name": "train-0",
        "node": "dgx-01",
        "requests": {GPU: gpus},
        "labels": QUANTS,
        **changed,
    }
    return Pod(**given)  # type: ignore[arg-type]  # the caller names fields of Pod


def holding(requests: dict[str, int], **changed: object) -> Pod:
    """The pod train-0 with other requests."""
    return train(requests=requests, **changed)  # type: ignore[arg-type]  # fields of Pod


def gang(pod: str, node: str = "dgx-01", gpus: int = 8, **changed: object) -> list[Device]:
    """The first GPUs of a node, held by a pod."""
    given: dict[str, object] = {"node": node, "pod": pod, **changed}
    return [Device(index=index, **given) for index in range(gpus)]  # type: ignore[arg-type]  # as above


def held(pod: str, *samples: tuple[Value, ...]) -> dict[Device, tuple[Value, ...]]:
    """A GPU of dgx-01 for each of the courses, all held by the pod."""
    return dict(zip(gang(pod, gpus=len(samples)), samples, strict=True))


def sliced(*pods: str, samples: tuple[Value, ...]) -> dict[Device, tuple[Value, ...]]:
    """A time-sliced GPU: who shares it has it in turn, as the kubelet lists pods in any order."""
    return {
        Device(node="dgx-01", index=0, pod=pod): turn(position, len(pods), samples)
        for position, pod in enumerate(pods)
    }


def instances(pod: str, number: int) -> list[Device]:
    """MIG instances of GPU 0 of dgx-01, which share its UUID."""
    return [
        Device(node="dgx-01", index=0, pod=pod, profile="1g.18gb", instance=str(7 + each))
        for each in range(number)
    ]


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
