"""Nodes that booted from real boot data, and the kubelets that admit pods to them."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from pulumi_kubernetes.core.v1 import Namespace

from components.platform.gpu_operator import GpuOperator, GpuOperatorArgs
from hardware.catalogue import load
from ignition.boot.node import boot
from ignition.plan.tuning import Purpose, Tuning
from rehearsal.api import Api
from rehearsal.device_plugin import DevicePlugin
from rehearsal.kubelet import ADMITTED, DESCRIBED
from rehearsal.network_plugins import NetworkPlugins, offering
from rehearsal.nodes import (
    MERGE,
    NODES,
    ClusterNode,
    RequestedMachine,
    register,
    wait_until_ready,
)
from settings.gpu_sharing import GpuSharing, sharing_labels
from tests.support.ignition.nodes import TUNING_OF, user_data
from tests.support.ignition.nodes import node as boot_data
from tests.support.recorder import named, render

PODS = "/api/v1/namespaces/default/pods"
NETWORK = NetworkPlugins(rdma={"dgx": 8}, efa=True)  # as many pods as GPUs
DEADLINE_S = 60


def device_plugin(sharing: GpuSharing) -> DevicePlugin:
    """What the operator is told where the pool `dgx` shares its GPUs so."""

    def program() -> None:
        args = GpuOperatorArgs(pools={"dgx": sharing}, dcgm_exporter={}, monitors=Namespace("m"))
        GpuOperator("gpu-operator", args)

    (release,) = named(render(program), "Release").values()
    values = release.inputs["values"]
    assert isinstance(values, dict)
    return DevicePlugin(values=values)


def machine(
    name: str, hardware: str, sharing: GpuSharing | None = None, purpose: Purpose = "training"
) -> ClusterNode:
    """A machine of the pool `dgx` that has booted from what the renderer writes for it."""
    shared = sharing or GpuSharing()
    found, plugin = load(hardware), device_plugin(shared)
    tuning = TUNING_OF.get(hardware, Tuning())
    done = boot(user_data(boot_data(hardware, tuning=tuning, purpose=purpose)), found)
    assert done.problems == ()
    assert done.node
    labels = {**done.node.labels, **sharing_labels("dgx", shared), "fleet.gpu/pool": "dgx"}
    if found.efa_interfaces:
        labels |= {"fleet.gpu/rdma": "efa", "fleet.gpu/pool": "burst"}
    booted = replace(done.node, labels=labels, hostname=name)
    network = NETWORK.offered(labels, found)
    return ClusterNode(
        machine=RequestedMachine(
            name=name,
            pool="dgx",
            site="fra",
            hardware=hardware,
            ignition="{}",
            provider_id=f"metal3://{name}",
        ),
        hardware=found,
        booted=offering(plugin.advertise(booted, found), network),
        offered=(*plugin.offered(labels, found), *network),
    )


@dataclass(frozen=True, kw_only=True)
class Kubelets:
    """An API server with kwok and the admitter."""

    api: Api
    directory: Path
    restart: Callable[[], None]
    """Ends the admitter by a signal that it cannot see, and starts it again."""
    numbers: "count[int]"

    def node(
        self, hardware: str, sharing: GpuSharing | None = None, purpose: Purpose = "training"
    ) -> str:
        """Add a Ready node of the machine."""
        name = f"node-{next(self.numbers)}"
        register(self.api, [machine(name, hardware, sharing, purpose)])
        assert wait_until_ready(self.api, [name], lambda *_: None) == {}
        return name

    def bind(self, name: str, node: str, *, memory: str = "1Gi", **limits: str) -> None:
        """Create a pod on the node that asks for the same as requests and limits."""
        self.create(name, node, {"limits": {"memory": memory, **limits}})

    def create(
        self, name: str, node: str | None, resources: Mapping[str, object], **spec: object
    ) -> None:
        """Create a pod, which tolerates every taint, bound to the node; None leaves it unbound."""
        container = {"name": "main", "image": "example", "resources": resources}
        wanted = {
            "containers": [container],
            "nodeName": node,
            "restartPolicy": "Never",
            "tolerations": [{"operator": "Exists"}],
            **spec,
        }
        assert self.api.create(PODS, {"metadata": {"name": name}, "spec": wanted})

    def configure(self, node: str, changes: Mapping[str, object]) -> None:
        """Start the node's kubelet with another configuration, as a changed Ignition does."""
        folder = self.directory / "kubelets" / node
        before = set(folder.iterdir())
        found = self.api.get(f"{NODES}/{node}")
        assert found
        told = json.loads(found["metadata"]["annotations"][DESCRIBED])
        told["configuration"] |= changes
        self._annotate(node, DESCRIBED, json.dumps(told))
        wait(lambda: set(folder.iterdir()).isdisjoint(before), f"the kubelet of {node} starts anew")

    def power(self, node: str, *, on: bool) -> None:
        """Switch the node's machine on or off."""
        self._annotate(node, "kwok.x-k8s.io/node", "fake" if on else None)

    def _annotate(self, node: str, key: str, text: str | None) -> None:
        change = {"metadata": {"annotations": {key: text}}}
        self.api.request("PATCH", f"{NODES}/{node}", change, headers=MERGE)

    def decided(self, name: str) -> dict[str, Any]:
        """Wait until kubelet runs the pod or has failed it."""
        return self.until(name, lambda pod: pod["status"]["phase"] in ("Running", "Failed"))

    def runs(self, name: str) -> dict[str, Any]:
        """Wait until the pod runs; return what kubelet gave its container."""
        pod = self.decided(name)
        assert pod["status"]["phase"] == "Running", pod["status"]
        return self.given(name)

    def given(self, name: str) -> dict[str, Any]:
        """Wait until the pod is admitted, and return what kubelet gave its container."""
        pod = self.until(name, lambda pod: ADMITTED in pod["metadata"].get("annotations", {}))
        return dict(json.loads(pod["metadata"]["annotations"][ADMITTED]).get("main", {}))

    def refusal(self, name: str) -> tuple[str, str]:
        """Wait until the pod has failed; return reason and message."""
        pod = self.decided(name)
        assert pod["status"]["phase"] == "Failed", pod["metadata"].get("annotations")
        return pod["status"]["reason"], pod["status"]["message"]

    def delete(self, name: str) -> None:
        """Delete the pod, and wait until it is gone."""
        self.api.delete(f"{PODS}/{name}")
        wait(lambda: self.api.get(f"{PODS}/{name}") is None, f"the pod {name} goes")

    def until(self, name: str, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait until this holds of the pod, and return it."""
        found: dict[str, Any] = {}

        def seen() -> bool:
            found.update(self.api.get(f"{PODS}/{name}") or {})
            return bool(found) and holds(found)

        wait(seen, f"kubelet decides on the pod {name}")
        return found

    def clear(self) -> None:
        """Delete all pods, which no kubelet is asked for, and nodes."""
        for pod in self.api.items(PODS):
            path = f"{PODS}/{pod['metadata']['name']}"
            self.api.request("DELETE", path, {"gracePeriodSeconds": 0})
        for node in self.api.items(NODES):
            self.api.delete(f"{NODES}/{node['metadata']['name']}")


def cpus(text: str) -> set[int]:
    """The numbers of a list of CPUs such as 0-3,56."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def wait(until: Callable[[], bool], what: str) -> None:
    """Wait until it holds."""
    deadline = time.monotonic() + DEADLINE_S
    while not until():
        assert time.monotonic() < deadline, f"it did not happen that {what}"
        time.sleep(0.02)
