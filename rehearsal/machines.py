"""The machines of a rehearsal: each is booted from the Ignition that it would be shipped.

What the program asked for is read back from where it went: BareMetalHosts and their Secrets from
the API server, servers from the simulated cloud. `ignition.boot` says what the machine would be;
one that comes up becomes a Node that kwok keeps alive, any other stays out with its reasons.
"""

from __future__ import annotations

import base64
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from hardware.hardware import HardwareError, load
from ignition.boot import BootedNode, boot
from rehearsal.providers import cloud

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from hardware.hardware import Hardware
    from rehearsal.api import Api

HARDWARE = "fleet.gpu/hardware"
POOL = "fleet.gpu/pool"
SITE = "fleet.gpu/site"
SERVER = "hcloud:index/server:Server"
READY_DEADLINE_S = 60.0
AT_ONCE = 8


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A machine that the program asked for; `hardware` is a name of the catalogue."""

    name: str
    pool: str
    site: str
    hardware: str
    ignition: str = field(repr=False)
    provider_id: str
    address: str | None = None


@dataclass(frozen=True, kw_only=True)
class Node:
    """A machine that came up, Ready in the cluster."""

    machine: Machine
    hardware: Hardware
    booted: BootedNode


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A machine, or the boot data of a machine type, that would not come up, and why."""

    name: str
    pool: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class NodeClass:
    """Boot data that Karpenter hands to the machines it makes; there are none of them yet."""

    name: str
    pool: str
    site: str
    hardware: Hardware
    gpu_limit: str | None


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """What the program's machines came to."""

    nodes: tuple[Node, ...]
    node_classes: tuple[NodeClass, ...]
    refusals: tuple[Refusal, ...]


@dataclass(frozen=True, kw_only=True)
class MachineRoom:
    """Boots the machines of one rehearsal."""

    api: Api
    directory: Path

    def start(self, progress: Callable[[int, int], None]) -> Fleet:
        """Boots every machine and waits until those that come up are Ready."""
        machines = [*self._bare_metal(), *self._servers()]
        done = list(map(self._boot, machines))
        nodes = [node for node in done if isinstance(node, Node)]
        refusals = [refusal for refusal in done if isinstance(refusal, Refusal)]
        version = str((self.api.get("/version") or {}).get("gitVersion", ""))
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(partial(self._register, version=version), nodes))
        late = self._wait_until_ready(nodes, progress)
        classes = list(map(self._check_class, self.api.items(NODE_CLASSES)))
        return Fleet(
            nodes=tuple(node for node in nodes if _name(node) not in late),
            node_classes=tuple(c for c in classes if isinstance(c, NodeClass)),
            refusals=(
                *refusals,
                *(
                    Refusal(name=_name(node), pool=node.machine.pool, reasons=(late[_name(node)],))
                    for node in nodes
                    if _name(node) in late
                ),
                *(c for c in classes if isinstance(c, Refusal)),
            ),
        )

    def _bare_metal(self) -> Iterable[Machine]:
        for host in self.api.items("/apis/metal3.io/v1alpha1/baremetalhosts"):
            metadata = host["metadata"]
            labels = metadata.get("labels", {})
            reference = host["spec"].get("userData") or {}
            namespace = reference.get("namespace", metadata["namespace"])
            secret = self.api.get(f"/api/v1/namespaces/{namespace}/secrets/{reference.get('name')}")
            text = ((secret or {}).get("data") or {}).get("userData", "")
            yield Machine(
                name=metadata["name"],
                pool=labels.get(POOL, ""),
                site=labels.get(SITE, ""),
                hardware=labels.get(HARDWARE, ""),
                ignition=base64.b64decode(text).decode(),
                provider_id=f"metal3://{metadata['uid']}",
            )

    def _servers(self) -> Iterable[Machine]:
        for server in cloud.read(self.directory):
            if server.type != SERVER:
                continue
            values = {**server.inputs, **server.outputs}
            labels = _mapping(values.get("labels"))
            yield Machine(
                name=str(values.get("name", server.name)),
                pool=labels.get(POOL, ""),
                site=labels.get(SITE, ""),
                hardware=str(values.get("serverType", "")),
                ignition=str(server.inputs.get("userData") or ""),  # as outputs it is a digest
                provider_id=f"hcloud://{server.id}",
                address=str(values.get("ipv4Address") or "") or None,
            )

    def _boot(self, machine: Machine) -> Node | Refusal:
        booted, hardware, problems = self._try(machine.hardware, machine.ignition)
        if booted is None or hardware is None:
            return Refusal(name=machine.name, pool=machine.pool, reasons=problems)
        return Node(machine=machine, hardware=hardware, booted=booted)

    def _try(
        self, name: str, ignition: str
    ) -> tuple[BootedNode | None, Hardware | None, tuple[str, ...]]:
        try:
            hardware = load(name)
        except HardwareError as error:
            return None, None, (str(error),)
        if not ignition:
            return None, hardware, ("It has no user data, so nothing would configure it.",)
        booted = boot(ignition, hardware, fetch=partial(cloud.fetch, self.directory))
        return booted.node, hardware, booted.problems

    def _register(self, node: Node, version: str) -> None:
        """Makes the Node as its kubelet would; one that is there already is kept."""
        self.api.create("/api/v1/nodes", node_object(node, version))

    def _wait_until_ready(
        self, nodes: list[Node], progress: Callable[[int, int], None]
    ) -> dict[str, str]:
        """Waits for kwok; returns the reason of every node that is not Ready in time."""
        wanted = {_name(node) for node in nodes}
        deadline = time.monotonic() + READY_DEADLINE_S
        while True:
            found = {node["metadata"]["name"]: node for node in self.api.items("/api/v1/nodes")}
            problems = {name: _not_ready(found.get(name)) for name in wanted}
            waiting = {name: problem for name, problem in problems.items() if problem}
            progress(len(wanted) - len(waiting), len(wanted))
            if not waiting or time.monotonic() > deadline:
                return waiting
            time.sleep(0.1)

    def _check_class(self, found: dict[str, Any]) -> NodeClass | Refusal:
        metadata, labels = found["metadata"], found["metadata"].get("labels", {})
        name, pool = metadata["name"], labels.get(POOL, metadata["name"])
        booted, hardware, problems = self._try(
            labels.get(HARDWARE, ""), found["spec"].get("userData", "")
        )
        if booted is None or hardware is None:
            return Refusal(name=f"EC2NodeClass {name}", pool=pool, reasons=problems)
        limits = [
            (pool["spec"].get("limits") or {}).get("nvidia.com/gpu")
            for pool in self.api.items(NODE_POOLS)
            if pool["spec"]["template"]["spec"]["nodeClassRef"]["name"] == name
        ]
        return NodeClass(
            name=name,
            pool=pool,
            site=labels.get(SITE, ""),
            hardware=hardware,
            gpu_limit=str(limits[0]) if limits and limits[0] is not None else None,
        )


NODE_CLASSES = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses"
NODE_POOLS = "/apis/karpenter.sh/v1/nodepools"


def node_object(node: Node, kubelet_version: str) -> dict[str, Any]:
    """The Node as kubelet and cloud controller register it, kept alive by kwok."""
    name, machine, booted = _name(node), node.machine, node.booted
    addresses = [{"type": "Hostname", "address": name}]
    if machine.address:
        addresses.insert(0, {"type": "InternalIP", "address": machine.address})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/arch": node.hardware.arch,
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": node.hardware.name,
                "topology.kubernetes.io/region": machine.site or booted.labels.get(SITE, ""),
                **booted.labels,
            },
        },
        "spec": {
            "providerID": machine.provider_id,
            "taints": [dict(taint) for taint in booted.taints],
        },
        "status": {
            "capacity": dict(booted.capacity),
            "allocatable": dict(booted.allocatable),
            "addresses": addresses,
            "nodeInfo": {
                "architecture": node.hardware.arch,
                "operatingSystem": "linux",
                "osImage": "Flatcar Container Linux",
                "kubeletVersion": kubelet_version,
                "kubeProxyVersion": "",
                "kernelVersion": "",
                "containerRuntimeVersion": "",
                "bootID": "",
                "machineID": "",
                "systemUUID": "",
            },
        },
    }


def _name(node: Node) -> str:
    return node.booted.hostname or node.machine.name


def _not_ready(node: dict[str, Any] | None) -> str | None:
    if node is None:
        return "Its Node was made and is gone again."
    conditions = node.get("status", {}).get("conditions", [])
    ready = next((c for c in conditions if c["type"] == "Ready"), None)
    if ready is None or ready["status"] != "True":
        said = ready["message"] if ready else "no condition was reported"
        return f"Its Node was not Ready after {READY_DEADLINE_S:.0f} s: {said}."
    taints = [taint["key"] for taint in node["spec"].get("taints", [])]
    if "node.kubernetes.io/not-ready" in taints:
        return "Its Node is Ready, but the node controller has not taken the not-ready taint off."
    return None


def _mapping(value: object) -> dict[str, str]:
    return {str(k): str(v) for k, v in value.items()} if isinstance(value, dict) else {}
