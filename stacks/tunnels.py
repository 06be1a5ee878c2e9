"""Registers the gateways of on-premises sites, and returns the tunnel ends of their machines."""

from collections.abc import Mapping
from functools import partial

import pulumi

from components.network.hetzner import HetznerNetwork
from components.pools.boot import TunnelEnd
from components.pools.gateway import Gateway, GatewayArgs, TunnelPeer
from hardware.catalogue import load
from ignition.write.wireguard import WireGuardKey
from ignition.write.wireguard_keys import public_key
from settings import BareMetalPoolSettings, MachineSettings, Settings, Site
from settings.tunnel_keys import gateway_name, key_of
from settings.tunnels import of_site, with_length

Secrets = Mapping[str, pulumi.Output[str]]


def tunnel_end(secrets: Secrets, site: Site, machine: MachineSettings) -> TunnelEnd | None:
    """Return a machine's end of the tunnel of its site; None where the site has no tunnel."""
    tunnel = of_site(site)
    if tunnel is None or machine.tunnel_address is None:  # settings refuse one without the other
        return None
    return TunnelEnd(
        address=with_length(tunnel, machine.tunnel_address),
        private_key=secrets["wireguard_keys"].apply(partial(key_of, machine.name)),
    )


def gateways(
    planned: Mapping[str, GatewayArgs], at_site: Mapping[str, pulumi.ResourceOptions]
) -> dict[str, pulumi.Output[str]]:
    """Register the gateways that this program makes; return their public addresses by site."""
    return {
        site: Gateway(f"{site}-gateway", args, at_site[args.network.site]).address
        for site, args in planned.items()
    }


def gateway_args(
    settings: Settings, secrets: Secrets, networks: Mapping[str, HetznerNetwork], flatcar: str
) -> dict[str, GatewayArgs]:
    """Return the gateways that this program makes, by the site whose machines they serve."""
    planned: dict[str, GatewayArgs] = {}
    for site, found in settings.sites.items():
        tunnel = of_site(found)
        peers = _peers(settings, secrets, site)
        if tunnel is None or tunnel.gateway is None or not peers:
            continue
        planned[site] = GatewayArgs(
            cluster=settings.cluster.name,
            site=site,
            title=settings.renamed_sites.get(site, site),
            name=gateway_name(settings, site),
            network=networks[tunnel.gateway.site],
            number=len(planned) + 1,
            hardware=load(tunnel.gateway.hardware),
            flatcar=flatcar,
            tunnel=tunnel.network,
            port=int(tunnel.endpoint.rpartition(":")[2]),
            private_key=secrets["wireguard_keys"].apply(
                partial(key_of, gateway_name(settings, site))
            ),
            peers=peers,
        )
    return planned


def _peers(settings: Settings, secrets: Secrets, site: str) -> list[TunnelPeer]:
    """Return the machines of a site, each with its public key."""
    return [
        TunnelPeer(
            address=machine.tunnel_address,
            public_key=secrets["wireguard_keys"].apply(partial(_public_key_of, machine.name)),
        )
        for pool in settings.pools.values()
        if isinstance(pool.declared, BareMetalPoolSettings) and pool.site == site
        for machine in pool.declared.machines
        if machine.tunnel_address is not None
    ]


def _public_key_of(name: str, text: str) -> str:
    return public_key(WireGuardKey(private_key=key_of(name, text)))
