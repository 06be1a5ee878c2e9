"""Mistakes that show only when machines of ours are compared, or one with its environment."""

import re
from collections.abc import Iterator, Mapping

from settings.pools import BareMetalPool, HetznerPool, Pool
from settings.problems import wrong
from settings.secrets import NAMESPACE
from settings.types import Cluster, Versions
from settings.versions import FLATCAR


def images(pools: Mapping[str, Pool], versions: Versions | None) -> Iterator[str]:
    """The image that Metal3 installs is of the Flatcar release that the rest of the fleet runs."""
    if versions is None:
        return
    release = versions.flatcar or FLATCAR
    for name, pool in pools.items():
        # digits beside it would make another release of it
        pattern = rf"(?<![0-9.]){re.escape(release)}(?!\.?[0-9])"
        if isinstance(pool, BareMetalPool) and not re.search(pattern, pool.image.url):
            yield wrong(
                f"{NAMESPACE}:pools.{name}.image.url",
                pool.image.url,
                f"an address that names Flatcar {release}, the release of this environment",
            )


def machines(pools: Mapping[str, Pool], cluster: Cluster | None) -> Iterator[str]:
    """A name, a BMC and a network card belong to one machine each, in all pools together."""
    servers = _servers(pools, cluster)
    first: dict[tuple[str, str], str] = {}
    for name, pool in pools.items():
        if not isinstance(pool, BareMetalPool):
            continue
        for position, machine in enumerate(pool.machines):
            path = f"{NAMESPACE}:pools.{name}.machines[{position}]"
            if machine.name in servers:
                allowed = f"a name that no server of {servers[machine.name]} has"
                yield wrong(f"{path}.name", machine.name, allowed)
            for field in ("name", "bmc_address", "boot_mac_address"):
                value: str = getattr(machine, field)
                taken = first.setdefault((field, value.lower()), path)
                if taken != path:
                    yield wrong(f"{path}.{field}", value, f"one that {taken} does not have")


def _servers(pools: Mapping[str, Pool], cluster: Cluster | None) -> dict[str, str]:
    """The names that Hetzner's servers are given, each with the path of its pool."""
    return {
        f"{cluster.name}-{name}-{number}": f"{NAMESPACE}:pools.{name}"
        for name, pool in pools.items()
        if cluster is not None and isinstance(pool, HetznerPool)
        for number in range(1, pool.nodes + 1)
    }
