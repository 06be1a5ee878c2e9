"""A hall of bare-metal machines on a real API server: hosts, their Nodes, and who moves them."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rehearsal.api import Api, ApiServerError
from rehearsal.machines import MachineBooter
from rehearsal.metal3 import HOSTS, MERGE, Changes, Metal3
from rehearsal.nodes import NODES, ClusterNode, register

NAMESPACE = "metal3-dgx"
HALL = f"/apis/metal3.io/v1alpha1/namespaces/{NAMESPACE}/baremetalhosts"
SECRETS = f"/api/v1/namespaces/{NAMESPACE}/secrets"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
LABELS = {
    "fleet.gpu/pool": "dgx",
    "fleet.gpu/site": "fra",
    "fleet.gpu/hardware": "dgx-h200",
    "fleet.gpu/numa-plan": "11111111",
}
OLD = "https://images.fleet.example/flatcar/4593.2.4/flatcar.img"
NEW = "https://images.fleet.example/flatcar/4593.2.5/flatcar.img"
DEADLINE_S = 60


@dataclass(frozen=True, kw_only=True)
class Hall:
    """The hosts of a pool `dgx`, by name, in an API server."""

    api: Api
    kubeconfig: str
    directory: Path
    wiped: list[str] = field(default_factory=list)
    """The machines that lost their system while `moving`, in order."""

    def clear(self) -> None:
        """Delete all hosts, Nodes, pods and budgets, as nobody else would."""
        for host in self.api.items(HOSTS):
            self.patch(f"{HALL}/{host['metadata']['name']}", {"metadata": {"finalizers": None}})
            self.delete(f"{HALL}/{host['metadata']['name']}")
        self.wiped.clear()
        for secret in self.api.items(SECRETS):
            path = f"{SECRETS}/{secret['metadata']['name']}"
            self.patch(path, {"metadata": {"finalizers": None}})
            self.delete(path)
        for kind in (
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            "/apis/apps/v1/namespaces/default/replicasets",
            "/apis/batch/v1/namespaces/default/jobs",
            "/api/v1/namespaces/default/pods",
            "/apis/batch/v1/namespaces/fleet-acceptance/jobs",
            "/apis/apps/v1/namespaces/fleet-acceptance/daemonsets",
            LEASES,
            NODES,
        ):
            for found in self.api.items(kind):
                self.delete(f"{kind}/{found['metadata']['name']}")

    def add(
        self, *names: str, boot: Callable[[str], str] = str, plan: str = "11111111", **spec: object
    ) -> None:
        """Create hosts as the program declares them, with their Secrets; `spec` overrides.

        `boot` returns the user data of a machine, which are those of `plan`.
        """
        self.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        login = {"username": "root", "password": "calvin"}
        self.api.create(SECRETS, {"metadata": {"name": "bmc"}, "stringData": login})
        for number, name in enumerate(names, 1):
            metadata = {"name": f"{name}-boot", "labels": {**LABELS, "fleet.gpu/numa-plan": plan}}
            data = {"userData": boot(name)}
            self.api.create(SECRETS, {"metadata": metadata, "stringData": data})
            host = {
                "apiVersion": "metal3.io/v1alpha1",
                "kind": "BareMetalHost",
                "metadata": {"name": name, "labels": LABELS},
                "spec": {
                    "online": True,
                    "bmc": {"address": bmc(number), "credentialsName": "bmc"},
                    "rootDeviceHints": {"serialNumber": f"EXAMPLE-{number}"},
                    "image": {"url": OLD, "checksum": "ab" * 64, "checksumType": "sha512"},
                    "userData": {"name": f"{name}-boot", "namespace": NAMESPACE},
                    **spec,
                },
            }
            self.api.create(HALL, host)

    def delete(self, path: str) -> None:
        """Delete an object at once; what depends on it goes later."""
        at_once = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
        with contextlib.suppress(ApiServerError):  # it has gone meanwhile
            self.api.request("DELETE", path, at_once)

    def host(self, name: str) -> dict[str, Any]:
        """Return a host, which must exist."""
        found = self.api.get(f"{HALL}/{name}")
        assert found, f"there is no host {name}"
        return found

    def states(self) -> dict[str, str]:
        """Return the provisioning state of each host by name."""
        return {
            host["metadata"]["name"]: host.get("status", {}).get("provisioning", {}).get("state")
            for host in self.api.items(HOSTS)
        }

    def patch(self, path: str, body: Mapping[str, object]) -> None:
        self.api.request("PATCH", path, body, headers=MERGE)

    def set_image(self, name: str, url: str | None) -> None:
        """Change the image of a host as `kubectl patch` would."""
        image = None if url is None else {"url": url}
        self.patch(f"{HALL}/{name}", {"spec": {"image": image}})

    def node(self, name: str) -> dict[str, Any] | None:
        return self.api.get(f"{NODES}/{name}")

    def add_node(self, name: str, **spec: object) -> None:
        """Create a Node that kwok keeps Ready."""
        metadata = {
            "name": name,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {**LABELS, "kubernetes.io/hostname": name},
        }
        resources = {"cpu": "224", "memory": "2000Gi", "pods": "110", "nvidia.com/gpu": "8"}
        status = {"capacity": resources, "allocatable": resources}
        self.api.create(NODES, {"metadata": metadata, "spec": spec, "status": status})

    def until(self, holds: Callable[[], object], what: str) -> None:
        """Wait until something is so; fail with `what` is not."""
        deadline = time.monotonic() + DEADLINE_S
        while not holds():
            assert time.monotonic() < deadline, f"never happened: {what}"
            time.sleep(0.05)

    @contextlib.contextmanager
    def moving(self) -> Iterator["Hall"]:
        """Let Metal3's stand-in install machines, and those boot, until the block ends."""
        ended = threading.Event()
        thread = threading.Thread(target=self._move, args=(ended,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            ended.set()
            thread.join()

    def _move(self, ended: threading.Event) -> None:
        metal3 = Metal3(api=self.api)
        while not ended.wait(0.05):
            with contextlib.suppress(ApiServerError):  # somebody else was quicker
                changes = metal3.step()
                self.wiped.extend(name for _, name in changes.stopped)
                self._follow(changes)
                self._check()

    def _follow(self, changes: Changes) -> None:
        """Boot the machines that were installed; those that were stopped fall silent."""
        room = MachineBooter(api=self.api, directory=self.directory)
        for _, name in changes.stopped:
            self._silence(name)
        for machine in room.requested():
            if (NAMESPACE, machine.name) in changes.installed:
                found = room.boot(machine)
                assert isinstance(found, ClusterNode), found
                register(self.api, [found])

    def _check(self) -> None:
        """Report of each Ready node what fleet-node-check does where nothing differs."""
        for node in self.api.items(NODES):
            found = {each["type"]: each["status"] for each in node["status"].get("conditions", [])}
            if found.get("Ready") == "True" and "NodeDrift" not in found:
                condition = {"type": "NodeDrift", "status": "False", "reason": "AsPlanned"}
                self.api.request(
                    "PATCH",
                    f"{NODES}/{node['metadata']['name']}/status",
                    {"status": {"conditions": [condition]}},
                    headers={"Content-Type": "application/strategic-merge-patch+json"},
                )

    def _silence(self, name: str) -> None:
        if self.node(name) is None:
            return
        silent = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
        self.patch(f"{NODES}/{name}", {"metadata": {"annotations": {"kwok.x-k8s.io/node": None}}})
        self.patch(f"{NODES}/{name}/status", {"status": {"conditions": [silent]}})


def bmc(number: int) -> str:
    """Return the BMC address of the machine with this number."""
    return f"redfish-virtualmedia+https://10.10.250.{10 + number}/redfish/v1/Systems/1"
