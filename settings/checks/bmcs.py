"""Checks that the addresses of all BMCs are known, from which pods of teams are kept."""

import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from settings.inventory import Inventories
from settings.names import PROJECT
from settings.pools import BareMetalPoolSettings, PoolSettings
from settings.problems import dotted, wrong
from settings.types import OnPremSite, Site


def bmc_mistakes(
    pools: Mapping[str, PoolSettings], sites: Mapping[str, Site], inventories: Inventories
) -> Iterator[str]:
    """Yield BMCs that are given by name at a site that does not say the range of its BMCs."""
    for name, pool in pools.items():
        site = sites.get(pool.site)
        if not isinstance(pool, BareMetalPoolSettings) or not isinstance(site, OnPremSite):
            continue
        for position, machine in enumerate(pool.machines):
            host = urlsplit(machine.bmc_address).hostname or ""
            if machine.bmc_range is None and re.fullmatch(r"[0-9.]+|.*:.*", host):
                yield wrong(
                    dotted(inventories.place(name, position), ["bmc_address"]),
                    machine.bmc_address,
                    f"an IP address or a name in place of {host}, which is neither",
                )
            elif machine.bmc_range is None and site.bmc_cidr is None:
                yield wrong(
                    dotted(inventories.place(name, position), ["bmc_address"]),
                    machine.bmc_address,
                    f"an address in place of the name, or {PROJECT}:sites.{pool.site}.bmc_cidr "
                    "with the range of the BMCs, because pods of teams are kept from addresses",
                )
