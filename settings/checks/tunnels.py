"""Checks of tunnels: their networks, their gateways, the addresses of machines in them."""

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network

from hardware import catalogue
from settings.checks.places import text_of
from settings.inventory import Inventories
from settings.names import PROJECT
from settings.pools import BareMetalPoolSettings, PoolSettings
from settings.problems import Mistake, dotted, wrong
from settings.tunnels import of_site
from settings.types import OnPremSite, Site, Tunnel


def tunnel_mistakes(
    sites: Mapping[str, Site], pools: Mapping[str, PoolSettings], inventories: Inventories
) -> Iterator[str]:
    """Yield networks behind a gateway that overlap, and wrong addresses of machines in a tunnel."""
    for name, site in sites.items():
        if isinstance(site, OnPremSite) and site.tunnel is not None:
            yield from _network_mistakes(f"{PROJECT}:sites.{name}", site, site.tunnel)
    taken: dict[str, str] = {}
    for name, pool in pools.items():
        if not isinstance(pool, BareMetalPoolSettings) or pool.site not in sites:
            continue
        tunnel = of_site(sites[pool.site])
        for position, machine in enumerate(pool.machines):
            path = dotted(inventories.place(name, position), ["tunnel_address"])
            address = machine.tunnel_address
            if tunnel is None and address is not None:
                yield wrong(path, address, f"nothing, because site {pool.site} has no tunnel")
            elif tunnel is not None:
                yield from _address_mistakes(path, address, pool.site, tunnel)
            if address is not None and taken.setdefault(address, path) != path:
                yield wrong(path, address, f"one that {taken[address]} does not have")


def gateway_mistakes(
    sites: Mapping[str, Site], named_sites: Mapping[str, object], pools: Mapping[str, object]
) -> Iterator[str]:
    """Yield gateways that are not a server of Hetzner at a site with a pool, which has a network.

    Reads entries of `named_sites` and `pools` that may be invalid.
    """
    used = {text_of(pool, "site") for pool in pools.values() if text_of(pool, "kind") == "hetzner"}
    fitting = sorted(
        name
        for name, site in named_sites.items()
        if text_of(site, "kind") == "hetzner" and name in used
    )
    for name, site in sites.items():
        tunnel = of_site(site)
        if tunnel is None or tunnel.gateway is None:
            continue
        path = f"{PROJECT}:sites.{name}.tunnel.gateway"
        if tunnel.gateway.site not in fitting:
            allowed = (
                f"a site of kind hetzner with a pool ({', '.join(fitting) or 'there is none'})"
            )
            yield wrong(f"{path}.site", tunnel.gateway.site, allowed)
        servers = [each for each in catalogue.names() if catalogue.load(each).kind == "hetzner"]
        if tunnel.gateway.hardware not in servers:
            allowed = f"a hetzner machine of the catalogue ({', '.join(servers)})"
            yield wrong(f"{path}.hardware", tunnel.gateway.hardware, allowed)


def _network_mistakes(path: str, site: OnPremSite, tunnel: Tunnel) -> Iterator[str]:
    """Yield networks behind the gateway that overlap the site, the tunnel or each other."""
    others = {f"{path}.cidr": site.cidr, f"{path}.tunnel.network": tunnel.network}
    for position, network in enumerate(tunnel.networks):
        at = f"{path}.tunnel.networks[{position}]"
        for other, cidr in others.items():
            if IPv4Network(network).overlaps(IPv4Network(cidr)):
                yield wrong(at, network, f"a range that does not overlap {other} ({cidr})")
        others[at] = network


def _address_mistakes(path: str, address: str | None, site: str, tunnel: Tunnel) -> Iterator[str]:
    network = IPv4Network(tunnel.network)
    allowed = (
        f"an address from {network[2]} to {network[-2]}, the machines' range in the tunnel of "
        f"site {site}"
    )
    if address is None:
        yield Mistake(path, f" is missing; allowed: {allowed}.")
    elif not network[2] <= IPv4Address(address) <= network[-2]:
        yield wrong(path, address, allowed)
