"""Creates the Nodes of the rehearsal's cluster as a kubelet would; kwok keeps them alive."""

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from hardware.catalogue import Hardware
from ignition.boot.node import BootedNode
from rehearsal.api import Api
from rehearsal.device_plugin import OfferedDevices, of_plugins
from rehearsal.kubelet import DESCRIBED, description
from settings.names import INSTANCE_TYPE_LABEL, SITE_LABEL

NODES = "/api/v1/nodes"
NODE_CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
MERGE = {"Content-Type": "application/merge-patch+json"}
MACHINES = ("hcloud://", "metal3://")  # how their provider ids begin; Karpenter's are its own
READY_DEADLINE_S = 60.0
AT_ONCE = 8


@dataclass(frozen=True, kw_only=True)
class RequestedMachine:
    """A machine that the program requests; `hardware` is a name of the catalogue."""

    name: str
    pool: str
    site: str
    hardware: str
    ignition: str = field(repr=False)
    provider_id: str
    address: str | None = None


@dataclass(frozen=True, kw_only=True)
class ClusterNode:
    """A machine that has booted and joins the cluster as a Node."""

    machine: RequestedMachine
    hardware: Hardware
    booted: BootedNode
    offered: tuple[OfferedDevices, ...] = ()

    @property
    def name(self) -> str:
        """The host name that Ignition sets, else the machine's name."""
        return self.booted.hostname or self.machine.name


def register(api: Api, nodes: Sequence[ClusterNode]) -> None:
    """Creates the Nodes; one that exists already takes what its device plugin now advertises.

    A Node of the same name whose machine was replaced by another one gives way, as a cloud
    controller deletes it.
    """
    wanted = {node.name: node.machine.provider_id for node in nodes}
    _delete(api, lambda name, provider_id: wanted.get(name, provider_id) != provider_id)
    version = str((api.get("/version") or {}).get("gitVersion", ""))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda node: _register(api, manifest(node, version)), nodes))


def _register(api: Api, wanted: dict[str, Any]) -> None:
    if api.create(NODES, wanted):
        return
    path = f"{NODES}/{wanted['metadata']['name']}"
    live = api.get(path)
    if live is None:
        return
    text = wanted["metadata"]["annotations"][DESCRIBED]
    labels = _change(live["metadata"], wanted["metadata"], "labels")
    if labels or live["metadata"].get("annotations", {}).get(DESCRIBED) != text:
        metadata = {"labels": labels, "annotations": {DESCRIBED: text}}
        api.request("PATCH", path, {"metadata": metadata}, headers=MERGE)
    fields = ("capacity", "allocatable")
    change = {key: _change(live["status"], wanted["status"], key) for key in fields}
    if any(change.values()):
        api.request("PATCH", f"{path}/status", {"status": change}, headers=MERGE)


def _change(live: dict[str, Any], wanted: dict[str, Any], key: str) -> dict[str, str | None]:
    """The merge patch from what the device plugin advertised to what it does now."""
    before, now = (of_plugins(each.get(key) or {}) for each in (live, wanted))
    return {} if before == now else {**dict.fromkeys(before), **now}


def delete_others(api: Api, names: Collection[str]) -> None:
    """Deletes the Nodes of servers and hosts that have none of these names."""
    _delete(api, lambda name, _: name not in names)


def _delete(api: Api, goes: Callable[[str, str], bool]) -> None:
    for node in api.items(NODES):
        name, provider_id = node["metadata"]["name"], node["spec"].get("providerID", "")
        if provider_id.startswith(MACHINES) and goes(name, provider_id):
            api.delete(f"{NODES}/{name}", dependents="Background")


def wait_until_ready(
    api: Api, names: Iterable[str], progress: Callable[[int, int], None]
) -> dict[str, str]:
    """Waits for kwok; returns the reason for each Node that is not Ready in time, by name."""
    wanted = set(names)
    deadline = time.monotonic() + READY_DEADLINE_S
    while True:
        found = {node["metadata"]["name"]: node for node in api.items(NODES)}
        problems = {name: _not_ready(found.get(name)) for name in wanted}
        waiting = {name: problem for name, problem in problems.items() if problem}
        progress(len(wanted) - len(waiting), len(wanted))
        if not waiting or time.monotonic() > deadline:
            return waiting
        time.sleep(0.1)


def manifest(node: ClusterNode, kubelet_version: str) -> dict[str, Any]:
    """The Node as kubelet and cloud controller make it: labels, taints, capacity, allocatable."""
    machine, booted = node.machine, node.booted
    addresses = [{"type": "Hostname", "address": node.name}]
    if machine.address:
        addresses.insert(0, {"type": "InternalIP", "address": machine.address})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": node.name,
            "annotations": {
                "kwok.x-k8s.io/node": "fake",
                DESCRIBED: description(booted, node.hardware, node.offered),
            },
            "labels": {
                "kubernetes.io/hostname": node.name,
                "kubernetes.io/arch": node.hardware.arch,
                "kubernetes.io/os": "linux",
                INSTANCE_TYPE_LABEL: node.hardware.name,
                "topology.kubernetes.io/region": machine.site or booted.labels.get(SITE_LABEL, ""),
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
            "nodeInfo": _node_info(node.hardware.arch, kubelet_version),
        },
    }


def _node_info(arch: str, kubelet_version: str) -> dict[str, str]:
    """The columns of `kubectl get nodes`; the API requires every field."""
    unknown = ("kubeProxyVersion", "kernelVersion", "containerRuntimeVersion")
    identities = ("bootID", "machineID", "systemUUID")
    return {
        "architecture": arch,
        "operatingSystem": "linux",
        "osImage": "Flatcar Container Linux",
        "kubeletVersion": kubelet_version,
        **dict.fromkeys((*unknown, *identities), ""),
    }


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
