"""The tunnel of a site, and its addresses."""

from ipaddress import IPv4Network

from settings.types import OnPremSite, Site, Tunnel


def of_site(site: Site | None) -> Tunnel | None:
    """Return the tunnel of a site; None where it has none."""
    return site.tunnel if isinstance(site, OnPremSite) else None


def with_length(tunnel: Tunnel, address: str) -> str:
    """Return an address of a tunnel with the length of its network, such as 10.13.0.11/24."""
    return f"{address}/{IPv4Network(tunnel.network).prefixlen}"
