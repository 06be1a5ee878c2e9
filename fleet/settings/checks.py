"""Mistakes that show only when parts of a stack file are compared, or one with the catalogue."""

import difflib
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network
from itertools import combinations

from fleet.settings.problems import wrong
from fleet.settings.secrets import NAMESPACE
from fleet.settings.types import (
    AwsPool,
    BareMetalPool,
    Cluster,
    HetznerPool,
    Pool,
    Queue,
    Site,
    Versions,
)
from hardware import hardware as catalogue
from hardware.hardware import Hardware
from ignition import numa_plan

SITE_KIND = {"bare-metal": "on-prem", "aws": "aws", "hetzner": "hetzner"}
RESERVED_QUEUES = ("root", "default")


def ranges(cluster: Cluster | None, sites: Mapping[str, Site]) -> Iterator[str]:
    """Sites, pods and services route into each other, so no two of them share an address."""
    named = {f"{NAMESPACE}:sites.{name}.cidr": site.cidr for name, site in sites.items()}
    if cluster is not None:
        named[f"{NAMESPACE}:cluster.pod_cidr"] = cluster.pod_cidr
        named[f"{NAMESPACE}:cluster.service_cidr"] = cluster.service_cidr
    for (path, cidr), (other_path, other_cidr) in combinations(named.items(), 2):
        if IPv4Network(cidr).overlaps(IPv4Network(other_cidr)):
            yield wrong(path, cidr, f"a range that does not overlap {other_path} ({other_cidr})")


def pools(
    pools: Mapping[str, Pool],
    sites: Mapping[str, Site],
    site_names: tuple[str, ...],
    versions: Versions | None,
) -> Iterator[str]:
    """Each pool against its site, its hardware and what that hardware needs."""
    for name, pool in pools.items():
        path = f"{NAMESPACE}:pools.{name}"
        yield from _site(path, pool, sites, site_names)
        hardware = _find(pool.hardware)
        if hardware is None or hardware.kind != pool.kind:
            yield wrong(f"{path}.hardware", pool.hardware, _hardware_of(pool))
            continue
        yield from _tuning(path, pool, hardware)
        if isinstance(pool, AwsPool):
            yield from _gpu_limit(path, pool, hardware)
        if hardware.nvswitch and versions is not None and versions.fabric_manager is None:
            yield (
                f"{NAMESPACE}:versions.fabric_manager is missing, and {path}.hardware is "
                f'"{hardware.name}", whose NVSwitches need it; allowed: the https:// address of a '
                f"system extension with Fabric Manager of the driver's version; Flatcar has none."
            )


def machines(pools: Mapping[str, Pool]) -> Iterator[str]:
    """A name, a BMC and a network card belong to one machine each, in all pools together."""
    first: dict[tuple[str, str], str] = {}
    for name, pool in pools.items():
        if not isinstance(pool, BareMetalPool):
            continue
        for position, machine in enumerate(pool.machines):
            path = f"{NAMESPACE}:pools.{name}.machines[{position}]"
            for field in ("name", "bmc_address", "boot_mac_address"):
                value: str = getattr(machine, field)
                taken = first.setdefault((field, value.lower()), path)
                if taken != path:
                    yield wrong(f"{path}.{field}", value, f"one that {taken} does not have")


def queues(
    queues: Mapping[str, Queue], pools: Mapping[str, Pool], *, complete: bool
) -> Iterator[str]:
    """Queues against the GPUs of the fleet; those are known only where every pool was read."""
    gpus = sum(gpu_count(pool) for pool in pools.values())
    known = complete and all(_find(pool.hardware) is not None for pool in pools.values())
    for name, queue in queues.items():
        path = f"{NAMESPACE}:queues.{name}"
        if name in RESERVED_QUEUES:
            yield f"{path} is a queue that Volcano makes itself; allowed: any other name."
        if known and queue.gpus > gpus:
            yield wrong(f"{path}.gpus", queue.gpus, f"at most the {gpus} GPUs of all pools")


def gpu_count(pool: Pool) -> int:
    """The most GPUs that a pool can bring; 0 where its hardware is unknown."""
    hardware = _find(pool.hardware)
    if isinstance(pool, AwsPool):
        return pool.gpu_limit
    machine_count = pool.nodes if isinstance(pool, HetznerPool) else len(pool.machines)
    return machine_count * hardware.gpu_count if hardware is not None else 0


def _site(
    path: str, pool: Pool, sites: Mapping[str, Site], site_names: tuple[str, ...]
) -> Iterator[str]:
    wanted = SITE_KIND[pool.kind]
    fitting = sorted(name for name, site in sites.items() if site.kind == wanted)
    allowed = f"a site of kind {wanted} ({', '.join(fitting) or 'there is none'})"
    if pool.site not in site_names:
        yield wrong(f"{path}.site", pool.site, allowed)
    elif pool.site in sites and sites[pool.site].kind != wanted:
        kind = sites[pool.site].kind
        yield f'{path}.site is "{pool.site}", a site of kind {kind}; allowed: {allowed}.'


def _find(name: str) -> Hardware | None:
    return catalogue.load(name) if name in catalogue.names() else None


def _hardware_of(pool: Pool) -> str:
    """The machines of the catalogue that fit a pool's kind, the nearest name first."""
    fitting = [name for name in catalogue.names() if catalogue.load(name).kind == pool.kind]
    near = difflib.get_close_matches(pool.hardware, fitting, n=1, cutoff=0.5)
    offer = f'did you mean "{near[0]}"? ' if near else ""
    return f"{offer}{pool.kind} machines of the catalogue are {', '.join(fitting)}"


def _tuning(path: str, pool: Pool, hardware: Hardware) -> Iterator[str]:
    try:
        numa_plan.plan(hardware, pool.tuning, pool.purpose)
    except numa_plan.PlanError as error:
        yield f"{path}.tuning: {error}"


def _gpu_limit(path: str, pool: AwsPool, hardware: Hardware) -> Iterator[str]:
    if hardware.gpu_count == 0:
        yield wrong(f"{path}.hardware", hardware.name, "a machine with GPUs")
    elif pool.gpu_limit % hardware.gpu_count:
        yield wrong(
            f"{path}.gpu_limit",
            pool.gpu_limit,
            f"a multiple of {hardware.gpu_count}, the GPUs of one {hardware.name}",
        )
