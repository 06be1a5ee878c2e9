"""Boots the machines of a rehearsal, each from its own Ignition.

The module reads the deployed resources back: BareMetalHosts and their Secrets from the API server,
servers from the simulated cloud. `ignition.boot` says what the machine would be;
one that comes up becomes a Node that kwok keeps alive, any other is reported with its reasons.
"""

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hardware.catalogue import Hardware, HardwareError, load
from ignition.boot.node import BootedNode, boot
from policies.language.inventory import DeployedPool, deployed_pools
from policies.language.join_parts import join_parts
from policies.language.rule import Manifest
from rehearsal.api import Api
from rehearsal.device_plugin import DevicePlugin
from rehearsal.network_plugins import NetworkPlugins, offering
from rehearsal.nodes import (
    ClusterNode,
    RequestedMachine,
    delete_others,
    register,
    wait_until_ready,
)
from rehearsal.providers import cloud
from settings.names import HARDWARE_LABEL, JOIN_TOKENS_NAMESPACE, POOL_LABEL, SERVER, SITE_LABEL

HOSTS = "/apis/metal3.io/v1alpha1/baremetalhosts"
CONFIG_MAPS = f"/api/v1/namespaces/{JOIN_TOKENS_NAMESPACE}/configmaps"
NODE_CLASSES = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses"
NODE_POOLS = "/apis/karpenter.sh/v1/nodepools"
KINDS = {HOSTS: "BareMetalHost", NODE_CLASSES: "EC2NodeClass", NODE_POOLS: "NodePool"}


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A machine, or the boot data of a machine type, that does not come up, and the reasons."""

    name: str
    pool: str
    reasons: tuple[str, ...]
    of_boot_data: bool = True  # False where it booted, and its Node did not become Ready


@dataclass(frozen=True, kw_only=True)
class Gateway:
    """A machine outside the cluster; the machines of an on-prem site have a tunnel to it."""

    name: str
    hardware: Hardware


@dataclass(frozen=True, kw_only=True)
class NodeClass:
    """Boot data for the machines that Karpenter will create; none exists yet."""

    name: str
    pool: str
    site: str
    hardware: Hardware


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """The deployed pools, with the machines that came up and those that did not."""

    pools: tuple[DeployedPool, ...]
    nodes: tuple[ClusterNode, ...]
    node_classes: tuple[NodeClass, ...]
    refusals: tuple[Refusal, ...]
    gateways: tuple[Gateway, ...] = ()


@dataclass(frozen=True, kw_only=True)
class MachineBooter:
    """Boots the machines of one rehearsal."""

    api: Api
    directory: Path

    @cached_property
    def device_plugin(self) -> DevicePlugin:
        """What the GPU Operator is told so far."""
        return DevicePlugin.read(self.directory)

    @cached_property
    def network_plugins(self) -> NetworkPlugins:
        """The device plugins for network cards that run so far."""
        return NetworkPlugins.read(self.api, self.directory)

    def start(self, progress: Callable[[int, int], None]) -> Fleet:
        """Boots every machine and waits until those that come up are Ready.

        The Nodes of machines that are gone are deleted.
        """
        requested = self.requested()
        done = _without_namesakes(map(self.boot, requested))
        nodes = [node for node in done if isinstance(node, ClusterNode)]
        refusals = [refusal for refusal in done if isinstance(refusal, Refusal)]
        hosts = [machine.name for machine in requested]
        delete_others(self.api, {*hosts, *(node.name for node in nodes)})
        register(self.api, nodes)
        late = wait_until_ready(self.api, [node.name for node in nodes], progress)
        refusals += [
            Refusal(
                name=node.name,
                pool=node.machine.pool,
                reasons=(late[node.name],),
                of_boot_data=False,
            )
            for node in nodes
            if node.name in late
        ]
        classes = list(map(self._check_class, self.api.items(NODE_CLASSES)))
        refusals += [refusal for refusal in classes if isinstance(refusal, Refusal)]
        return Fleet(
            pools=deployed_pools(self._deployed()),
            nodes=tuple(node for node in nodes if node.name not in late),
            node_classes=tuple(found for found in classes if isinstance(found, NodeClass)),
            refusals=tuple(refusals),
            gateways=tuple(found for found in done if isinstance(found, Gateway)),
        )

    def requested(
        self, known: Mapping[str, RequestedMachine] = MappingProxyType({})
    ) -> list[RequestedMachine]:
        """Return every machine that the program has made so far.

        Those of one's own that are in `known`, by provider id, are not read again.
        """
        return [*self._bare_metal(known), *self._servers()]

    def _deployed(self) -> Iterator[Manifest]:
        """Yield the resources that describe pools, from where the program made them."""
        for path, kind in KINDS.items():
            for found in self.api.items(path):
                yield {**found, "kind": kind}  # items of a list come without it
        for server in cloud.read(self.directory):
            if server.type == SERVER:
                metadata = {"name": server.name}
                yield {
                    "kind": SERVER,
                    "metadata": metadata,
                    "spec": {**server.inputs, **server.outputs},
                }

    def _bare_metal(self, known: Mapping[str, RequestedMachine]) -> Iterable[RequestedMachine]:
        for host in self.api.items(HOSTS):
            metadata = host["metadata"]
            provider_id = f"metal3://{metadata['uid']}"
            if provider_id in known:
                yield known[provider_id]
                continue
            labels = metadata.get("labels", {})
            reference = host["spec"].get("userData") or {}
            namespace = reference.get("namespace", metadata["namespace"])
            secret = self.api.get(f"/api/v1/namespaces/{namespace}/secrets/{reference.get('name')}")
            text = ((secret or {}).get("data") or {}).get("userData", "")
            yield RequestedMachine(
                name=metadata["name"],
                pool=labels.get(POOL_LABEL, ""),
                site=labels.get(SITE_LABEL, ""),
                hardware=labels.get(HARDWARE_LABEL, ""),
                ignition=base64.b64decode(text).decode(),
                provider_id=provider_id,
            )

    def _servers(self) -> Iterable[RequestedMachine]:
        for server in cloud.read(self.directory):
            if server.type != SERVER:
                continue
            values = {**server.inputs, **server.outputs}
            labels = _mapping(values.get("labels"))
            yield RequestedMachine(
                name=str(values.get("name", server.name)),
                pool=labels.get(POOL_LABEL, ""),
                site=labels.get(SITE_LABEL, ""),
                hardware=str(values.get("serverType", "")),
                ignition=str(server.inputs.get("userData") or ""),  # as outputs it is a digest
                provider_id=f"hcloud://{server.id}",
                address=str(values.get("ipv4Address") or "") or None,
            )

    def boot(self, machine: RequestedMachine) -> ClusterNode | Gateway | Refusal:
        """Return what the machine becomes with its Ignition."""
        booted, hardware, problems = self._try(machine.hardware, machine.ignition)
        if hardware is not None and booted is None and not problems:
            return Gateway(name=machine.name, hardware=hardware)
        if booted is None or hardware is None:
            return Refusal(name=machine.name, pool=machine.pool, reasons=problems)
        gpus = self.device_plugin.offered(booted.labels, hardware)
        network = self.network_plugins.offered(booted.labels, hardware)
        return ClusterNode(
            machine=machine,
            hardware=hardware,
            booted=offering(self.device_plugin.advertise(booted, hardware), network),
            offered=(*gpus, *network),
        )

    def _fetch(self, source: str) -> bytes:
        """What a machine reads from S3; a join part has the sample token of its template."""
        try:
            return cloud.fetch(self.directory, source)
        except KeyError:
            parts = join_parts(self.api.items(CONFIG_MAPS))
            if source not in parts:
                raise
            return parts[source].encode()

    def _try(
        self, name: str, ignition: str
    ) -> tuple[BootedNode | None, Hardware | None, tuple[str, ...]]:
        try:
            hardware = load(name)
        except HardwareError as error:
            return None, None, (str(error),)
        if not ignition:
            return None, hardware, ("It has no user data, so nothing would configure it.",)
        booted = boot(ignition, hardware, fetch=self._fetch)
        return booted.node, hardware, booted.problems

    def _check_class(self, found: dict[str, Any]) -> NodeClass | Refusal:
        metadata, labels = found["metadata"], found["metadata"].get("labels", {})
        name, pool = metadata["name"], labels.get(POOL_LABEL, metadata["name"])
        booted, hardware, problems = self._try(
            labels.get(HARDWARE_LABEL, ""), found["spec"].get("userData", "")
        )
        if booted is None or hardware is None:
            return Refusal(name=f"EC2NodeClass {name}", pool=pool, reasons=problems)
        return NodeClass(
            name=name,
            pool=pool,
            site=labels.get(SITE_LABEL, ""),
            hardware=hardware,
        )


def _without_namesakes(
    done: Iterable[ClusterNode | Gateway | Refusal],
) -> list[ClusterNode | Gateway | Refusal]:
    """Refuses a machine with the node name of another."""
    pools: dict[str, str] = {}
    found: list[ClusterNode | Gateway | Refusal] = []
    for thing in done:
        if isinstance(thing, ClusterNode) and thing.name in pools:
            reason = f"It names itself {thing.name}, as a machine of {pools[thing.name]} does."
            pool = thing.machine.pool
            found.append(Refusal(name=thing.machine.name, pool=pool, reasons=(reason,)))
            continue
        if isinstance(thing, ClusterNode):
            pools[thing.name] = thing.machine.pool
        found.append(thing)
    return found


def _mapping(value: object) -> dict[str, str]:
    return {str(k): str(v) for k, v in value.items()} if isinstance(value, dict) else {}
