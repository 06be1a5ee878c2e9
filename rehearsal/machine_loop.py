"""`python -m rehearsal.machine_loop DIRECTORY`: boots each machine the moment that it is made.

It runs beside the engine, so that what waits for a Node during `up` can wait: a server, or a host
that the stand-in of Metal3 has installed, is booted from its Ignition and becomes a Node, or its
refusal is written down, where the stand-in of dynamic resources finds it. A machine that is gone,
or wiped, leaves a Node that is not Ready; with a wiped drive go the files of its kubelet, too.

The machines that Karpenter rents are booted in the same way.
"""

import signal
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rehearsal.api import Api, ApiServerError
from rehearsal.device_plugin import DevicePlugin
from rehearsal.errors import RefusedError
from rehearsal.karpenter import machines as rented
from rehearsal.kubelet import forget
from rehearsal.machines import Gateway, MachineBooter, Refusal
from rehearsal.metal3 import Metal3
from rehearsal.network_plugins import NetworkPlugins
from rehearsal.nodes import MERGE, NODES, ClusterNode, RequestedMachine, register
from rehearsal.providers.kubernetes import kubeconfig
from rehearsal.refusals import write

BUSY_PAUSE_S, IDLE_PAUSE_S = 0.2, 1.0
SHARE = 1
"""How many rounds long the pause after a round is: with many machines a round is long."""
IDLE_AFTER = 100  # rounds in which nothing happened
FAKE = "kwok.x-k8s.io/node"


@dataclass(kw_only=True)
class MachineLoop:
    """The machines of one rehearsal, and those of them that it has booted."""

    api: Api
    directory: Path
    booted: dict[str, ClusterNode | None] = field(default_factory=dict)
    """By provider id, which another machine of the same name does not have."""
    made: dict[str, RequestedMachine] = field(default_factory=dict)
    """By provider id, as the last round saw them."""
    refused: dict[str, Refusal] = field(default_factory=dict)
    plugin: DevicePlugin | None = None
    """What the GPU Operator was told when the machines were booted."""
    network: NetworkPlugins | None = None
    """The device plugins for network cards that ran then."""
    told: dict[str, str] = field(default_factory=dict)
    """The reasons that were written last."""
    without_agent: set[str] = field(default_factory=set)
    """The rented Nodes on which Cilium's agent does not run yet."""
    on_drives: dict[str, str] = field(default_factory=dict)
    """The Nodes whose kubelets have files on a drive, by provider id."""

    def step(self) -> bool:
        """Boot what is new, and switch off what is gone; return whether there was any."""
        room = MachineBooter(api=self.api, directory=self.directory)
        metal3 = Metal3(api=self.api)
        moved = metal3.step()
        running = {key: each for key, each in self.made.items() if key in self.booted}
        machines = [*room.requested(running), *rented.requested(self.directory)]
        made = self.made = {machine.provider_id: machine for machine in machines}
        wanted = {key: each for key, each in made.items() if metal3.lets_run(key)}
        new = [
            machine
            for key, machine in wanted.items()
            if key not in self.booted or self._offers_otherwise(room, machine)
        ]
        self.plugin, self.network = room.device_plugin, room.network_plugins
        gone = [key for key in self.booted if key not in wanted]
        for key in gone:
            self._switch_off(key)
        for key in list(filter(metal3.has_wiped, self.on_drives)):
            forget(self.directory, self.on_drives.pop(key))
        for machine in new:
            self._boot(room, machine)
        told = {each.name: " ".join(each.reasons) for each in self.refused.values()}
        told |= metal3.refused
        if told != self.told:
            write(self.directory, told)
            self.told = told
        self.without_agent -= {
            node
            for node in self.without_agent
            if rented.start_agent(self.api, self.directory, node)
        }
        return bool(new or gone or moved.busy or self.without_agent)

    def _offers_otherwise(self, room: MachineBooter, machine: RequestedMachine) -> bool:
        """Whether a device plugin of the machine has come or changed since it was booted."""
        if self.network is None or room.device_plugin != self.plugin:
            return True
        before, now = self.network, room.network_plugins
        return before.efa != now.efa or before.rdma.get(machine.pool) != now.rdma.get(machine.pool)

    def _boot(self, room: MachineBooter, machine: RequestedMachine) -> None:
        found = room.boot(machine)
        if isinstance(found, Gateway) and machine.provider_id.startswith(rented.RENTED):
            reason = "Its user data starts no kubelet, so it never joins the cluster."
            found = Refusal(name=machine.name, pool=machine.pool, reasons=(reason,))
        if isinstance(found, ClusterNode) and (other := self._namesake(found)):
            reason = f"It names itself {found.name}, as a machine of {other.machine.pool} does."
            found = Refusal(name=machine.name, pool=machine.pool, reasons=(reason,))
        self.booted[machine.provider_id] = found if isinstance(found, ClusterNode) else None
        if isinstance(found, Refusal):
            self.refused[machine.provider_id] = found
        if isinstance(found, ClusterNode):
            register(self.api, [found])
            self.on_drives[machine.provider_id] = found.name
            self._set_kubelet(found.name, "fake")  # of an older machine's Node, which it takes over
            if machine.provider_id.startswith(rented.RENTED):
                self.without_agent.add(found.name)

    def _namesake(self, node: ClusterNode) -> ClusterNode | None:
        others = {**self.booted, node.machine.provider_id: None}  # it may boot again
        return next((each for each in others.values() if each and each.name == node.name), None)

    def _switch_off(self, key: str) -> None:
        node = self.booted.pop(key)
        self.refused.pop(key, None)
        if node is None:
            return
        self._set_kubelet(node.name, None)
        silent = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
        self._patch(f"{NODES}/{node.name}/status", {"status": {"conditions": [silent]}})

    def _set_kubelet(self, name: str, kwok: str | None) -> None:
        self._patch(f"{NODES}/{name}", {"metadata": {"annotations": {FAKE: kwok}}})

    def _patch(self, path: str, body: Mapping[str, object]) -> None:
        try:
            self.api.request("PATCH", path, body, headers=MERGE)
        except ApiServerError as error:
            if error.status != 404:
                raise


def main() -> None:
    """Runs until SIGTERM."""
    directory, ended = Path(sys.argv[1]), threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    # Ctrl-C reaches the whole terminal; the engine must still be able to finish what runs.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    access = kubeconfig.cluster(str(directory / "kubeconfig"))
    loop = MachineLoop(api=Api.connect(access.server, access.trust), directory=directory)
    quiet, pause_s = 0, BUSY_PAUSE_S
    while not ended.wait(pause_s):
        started = time.monotonic()
        try:
            quiet = 0 if loop.step() else quiet + 1
        except RefusedError as error:  # a busy API server: the next round tries again
            sys.stderr.write(f"{error}\n")
        least_s = BUSY_PAUSE_S if quiet < IDLE_AFTER else IDLE_PAUSE_S
        pause_s = max(least_s, SHARE * (time.monotonic() - started))


if __name__ == "__main__":
    main()
