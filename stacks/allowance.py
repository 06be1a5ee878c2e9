"""Refuses an update that takes more machines than allowed, or that Metal3 would refuse midway.

The program knows what it is about to make, and the engine what is deployed: the machines that
differ are counted here, so that a plain `pulumi up` is held to the limits, too, and also one that
skips its preview. What the program cannot know before it starts, such as another user data because
of another key, `fleet preview` counts from the engine's steps.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import pulumi
import pulumi_hcloud as hcloud

from components.pools.boot import PoolBoot
from components.pools.gateway import GatewayArgs, gateway_generation, gateway_image
from components.pools.hetzner import pool_generation, server_names
from components.pools.snapshot import snapshot
from policies.language import inventory
from policies.language.manifest import at, items, mapping
from settings import (
    AwsPoolSettings,
    BareMetalPoolSettings,
    HetznerPoolSettings,
    HetznerSite,
    MachineSettings,
    Settings,
    SettingsError,
)
from settings.bmc import same_bmc
from settings.names import (
    BARE_METAL_HOST,
    BOOT_LABEL,
    HOST_DETACHED,
    METAL3_PREFIX,
    NODE_DRAIN,
    NODE_POOL,
    NODE_READY,
    SERVER,
)
from settings.owned_machines import Host, OwnedMachines, refused
from settings.taken import Machines, beyond, taken

READ_DEPLOYED = "pulumi:pulumi:readStackResourceOutputs"
"""The engine's function that returns the outputs of all resources of a stack."""

SiteOptions = Mapping[str, pulumi.ResourceOptions]
Deployed = Mapping[str, Sequence[Mapping[str, object]]]


def check_allowance(
    settings: Settings,
    boots: Mapping[str, PoolBoot],
    gateways: Mapping[str, GatewayArgs],
    at_site: SiteOptions,
) -> None:
    """Raise SettingsError where the update takes more machines than `allow:` says.

    Also where it does to an owned machine what no update may do (`settings.owned_machines`).
    """
    deployed = _deployed()
    planned = Machines(
        servers={**_servers(settings, boots, at_site), **_gateways(gateways, at_site)},
        hosts=frozenset(machine.name for machine in _owned(settings)),
        leaving=frozenset(each.name for each in _owned(settings) if each.leaving is not None),
        rented={
            f"{name}-{capacity}": 0
            for name, pool in settings.pools.items()
            if isinstance(pool.declared, AwsPoolSettings)
            for capacity in pool.declared.gpu_limits
        },
    )
    sentences = (
        *refused(_deployed_hosts(deployed), tuple(hosts(settings))),
        *beyond(taken(_deployed_machines(deployed), planned), settings.allow),
    )
    if sentences:
        raise SettingsError(sentences)


def _deployed() -> Deployed:
    """Return what the last update left of this stack: the outputs of its resources by type."""
    names = (pulumi.get_organization(), pulumi.get_project(), pulumi.get_stack())
    answer = pulumi.runtime.invoke(READ_DEPLOYED, {"stackName": "/".join(names)}).value
    found: dict[str, list[Mapping[str, object]]] = {}
    for resource in mapping(mapping(answer).get("outputs")).values():
        outputs = mapping(mapping(resource).get("outputs"))
        found.setdefault(str(mapping(resource).get("type")), []).append(outputs)
    return found


def _deployed_machines(found: Deployed) -> Machines:
    return Machines(
        servers={str(one.get("name")): _label(one) for one in found.get(SERVER, [])},
        hosts=frozenset(str(at(one, "metadata", "name")) for one in found.get(BARE_METAL_HOST, [])),
        leaving=frozenset(str(one.get("node")) for one in found.get(NODE_DRAIN, [])),
        rented={str(at(one, "metadata", "name")): _most(one) for one in found.get(NODE_POOL, [])},
    )


def _deployed_hosts(found: Deployed) -> OwnedMachines:
    drained = {str(one["node"]): bool(one.get("detached")) for one in found.get(NODE_DRAIN, [])}
    let_go = {str(one.get("host")) for one in found.get(HOST_DETACHED, [])}
    ready = [items(one.get("nodes")) for one in found.get(NODE_READY, [])]
    return OwnedMachines(
        hosts=[
            Host(
                name=str(at(one, "metadata", "name")),
                pool=str(at(one, "metadata", "namespace")).removeprefix(METAL3_PREFIX),
                bmc_address=_bmc(at(one, "spec", "bmc", "address")),
                boot_mac_address=_text(at(one, "spec", "bootMACAddress")),
            )
            for one in found.get(BARE_METAL_HOST, [])
        ],
        joined=frozenset(drained).union(*(map(str, names) for names in ready)),
        left=frozenset(name for name, detached in drained.items() if not detached) | let_go,
    )


def _bmc(value: object) -> str | None:
    """Return the address of a BMC; None where an older version let through what is none."""
    address = _text(value)
    with suppress(ValueError):
        if address is not None:
            same_bmc(address)
            return address
    return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _most(node_pool: Mapping[str, object]) -> int:
    """Return the most machines that a NodePool may have; one where nothing tells."""
    found = inventory.machines({**node_pool, "kind": "NodePool"})
    return 1 if found is None else int(found.count)


def _label(server: Mapping[str, object]) -> str | None:
    return _text(at(server, "labels", BOOT_LABEL))


def hosts(settings: Settings) -> Iterator[Host]:
    """Yield the owned machines of an environment."""
    for pool in settings.pools.values():
        if isinstance(pool.declared, BareMetalPoolSettings):
            for machine in pool.declared.machines:
                yield Host(
                    name=machine.name,
                    pool=pool.name,
                    bmc_address=machine.bmc_address,
                    boot_mac_address=machine.boot_mac_address,
                )


def _owned(settings: Settings) -> Iterator[MachineSettings]:
    for pool in settings.pools.values():
        if isinstance(pool.declared, BareMetalPoolSettings):
            yield from pool.declared.machines


def _servers(
    settings: Settings, boots: Mapping[str, PoolBoot], at_site: SiteOptions
) -> dict[str, str]:
    """Return what each server of a pool at Hetzner is to be made from."""
    planned: dict[str, str] = {}
    for boot in boots.values():
        pool, site = boot.pool.declared, settings.sites[boot.pool.site]
        if isinstance(pool, HetznerPoolSettings) and isinstance(site, HetznerSite):
            who = f"pool {boot.pool.title}"
            look_up = _at_hetzner(at_site[boot.pool.site])
            image = snapshot(who, boot.pool.hardware, boot.flatcar, look_up)
            digest = pool_generation(boot, site.location, image)
            planned |= dict.fromkeys(server_names(boot, pool.nodes), digest)
    return planned


def _gateways(gateways: Mapping[str, GatewayArgs], at_site: SiteOptions) -> dict[str, str]:
    planned = {}
    for args in gateways.values():
        image = gateway_image(args, _at_hetzner(at_site[args.network.site]))
        planned[args.name] = gateway_generation(args, image)
    return planned


def _at_hetzner(opts: pulumi.ResourceOptions) -> pulumi.InvokeOptions:
    """Return the options of a function that Hetzner's provider of a site answers."""
    (provider,) = (each for each in opts.providers or () if isinstance(each, hcloud.Provider))
    return pulumi.InvokeOptions(provider=provider)
