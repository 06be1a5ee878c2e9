"""The tunnel of a site and the addresses in it."""

from ipaddress import IPv4Network

from settings.types import OnPremSite, Site, Tunnel


def of_site(site: Site | None) -> Tunnel | None:
    """The tunnel of a site, where it has one."""
    return site.tunnel if isinstance(site, OnPremSite) else None


def with_length(tunnel: Tunnel, address: str) -> str:
    """An address of a tunnel as an interface has it: 10.13.0.11/24."""
    return f"{address}/{IPv4Network(tunnel.network).prefixlen}"
