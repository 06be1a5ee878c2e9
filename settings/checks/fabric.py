"""Checks of the network between GPUs: a part of it that is missing makes the others useless."""

from collections.abc import Iterator, Mapping

from hardware.catalogue import Hardware
from settings.checks.places import hardware_of
from settings.names import PROJECT
from settings.pools import AwsPoolSettings, BareMetalPoolSettings, PoolSettings
from settings.problems import Mistake, wrong
from settings.types import AwsSite, Site, Versions

_EFA = f"{PROJECT}:versions.efa"


def fabric_mistakes(
    pools: Mapping[str, PoolSettings],
    sites: Mapping[str, Site],
    versions: Versions | None,
    *,
    complete: bool,
) -> Iterator[str]:
    """Yield fabrics without cards, zones outside the region, and EFA of which a part is missing.

    `complete` says that `pools` are all of the file: an invalid one may be that with EFA.
    """
    efa = versions is not None and versions.efa is not None
    with_efa: set[str] = set()
    for name, pool in pools.items():
        path = f"{PROJECT}:pools.{name}"
        hardware = hardware_of(pool.kind, pool.hardware)
        if hardware is None:
            continue
        if isinstance(pool, BareMetalPoolSettings):
            yield from _rails(path, pool, hardware)
        elif isinstance(pool, AwsPoolSettings):
            yield from _zone(path, pool, sites.get(pool.site))
            if efa and hardware.efa_interfaces:
                with_efa.add(pool.site)
                yield from _efa(path, pool, sites.get(pool.site))
    if versions is None:
        return
    if complete and versions.efa is not None and not with_efa:
        allowed = "with a pool on AWS with EFA interfaces alone, as nothing else needs it"
        yield Mistake(_EFA, f' is "{versions.efa}", but no pool has EFA; allowed: {allowed}.')
    for name, site in sites.items():
        if isinstance(site, AwsSite) and site.vpc is not None and name not in with_efa:
            yield Mistake(
                f"{PROJECT}:sites.{name}.vpc",
                f' is "{site.vpc}", but no pool there has EFA; allowed: '
                f"with {_EFA} and a pool with EFA interfaces alone, as nothing else needs it.",
            )


def _rails(path: str, pool: BareMetalPoolSettings, hardware: Hardware) -> Iterator[str]:
    if pool.fabric is not None and not (hardware.gpus and hardware.rails):
        allowed = (
            f"none, because {hardware.name} has no GPUs with RDMA cards between its machines in "
            "the catalogue"
        )
        yield wrong(f"{path}.fabric", pool.fabric, allowed)


def _zone(path: str, pool: AwsPoolSettings, site: Site | None) -> Iterator[str]:
    if pool.zone is not None and isinstance(site, AwsSite) and pool.zone[:-1] != site.region:
        yield wrong(f"{path}.zone", pool.zone, f"a zone of {site.region}, the region of its site")


def _efa(path: str, pool: AwsPoolSettings, site: Site | None) -> Iterator[str]:
    if pool.zone is None:
        yield Mistake(
            f"{path}.zone",
            f" is missing, and {_EFA} is given; allowed: one availability zone, because "
            "EFA traffic never crosses zones.",
        )
    if isinstance(site, AwsSite) and site.vpc is None:
        yield Mistake(
            f"{PROJECT}:sites.{pool.site}.vpc",
            f" is missing, and {_EFA} is given; allowed: the id of "
            "the VPC of the tagged subnets, for the security group that lets EFA traffic through.",
        )
