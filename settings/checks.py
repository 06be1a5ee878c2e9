"""Mistakes that show only when parts of a stack file are compared, or one with the catalogue."""

import difflib
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network
from itertools import combinations

from hardware import catalogue
from hardware.catalogue import Hardware
from ignition.plan import numa_plan
from settings import extensions, rented, sharing, snippets
from settings.pools import AwsPool, HetznerPool, Pool
from settings.problems import wrong
from settings.secrets import NAMESPACE
from settings.types import (
    Cluster,
    Lakefs,
    Monitoring,
    OnPremSite,
    Queue,
    Site,
    Team,
    Versions,
)

SITE_KIND = {"bare-metal": "on-prem", "aws": "aws", "hetzner": "hetzner"}
RESERVED_QUEUES = ("root", "default")
# namespaces of the cluster's own and of what this program installs
RESERVED_NAMESPACES = (
    *("cilium-secrets", "default", "fleet-node-check", "fleet-policies"),
    *("gpu-operator", "lakefs", "monitoring", "volcano-system"),
)
RESERVED_PREFIXES = ("kube-", "metal3-")


def ranges(cluster: Cluster | None, sites: Mapping[str, Site]) -> Iterator[str]:
    """Sites, tunnels, pods and services route into each other: no two of them share an address."""
    named = {f"{NAMESPACE}:sites.{name}.cidr": site.cidr for name, site in sites.items()}
    for name, site in sites.items():
        if isinstance(site, OnPremSite) and site.tunnel is not None:
            named[f"{NAMESPACE}:sites.{name}.tunnel.network"] = site.tunnel.network
    if cluster is not None:
        named[f"{NAMESPACE}:cluster.pod_cidr"] = cluster.pod_cidr
        named[f"{NAMESPACE}:cluster.service_cidr"] = cluster.service_cidr
    for (path, cidr), (other_path, other_cidr) in combinations(named.items(), 2):
        if IPv4Network(cidr).overlaps(IPv4Network(other_cidr)):
            yield wrong(path, cidr, f"a range that does not overlap {other_path} ({other_cidr})")


def places(pools: Mapping[str, object], sites: Mapping[str, object]) -> Iterator[str]:
    """Each pool against its site and the catalogue; reads entries that may be wrong elsewhere."""
    kinds = {name: _text(site, "kind") for name, site in sites.items()}
    for name, pool in pools.items():
        path = f"{NAMESPACE}:pools.{name}"
        kind, site, machine = (_text(pool, key) for key in ("kind", "site", "hardware"))
        if kind is None or kind not in SITE_KIND:
            continue
        if site is not None:
            yield from _site(f"{path}.site", kind, site, kinds)
        if machine is not None:
            found = _find(machine)
            if found is not None and found.kind not in SITE_KIND:
                yield (
                    f'{path}.hardware is "{machine}", a machine of kind {found.kind}, which no '
                    f"kind of pool can start; allowed: {_hardware_of(kind, machine)}."
                )
            elif found is None or found.kind != kind:
                yield wrong(f"{path}.hardware", machine, _hardware_of(kind, machine))


def single_sites(pools: Mapping[str, Pool]) -> Iterator[str]:
    """Karpenter works in one region, and Hetzner's cloud controller knows one network."""
    limits = {
        "aws": "Karpenter works in one region",
        "hetzner": "the cloud controller knows one network",
    }
    for kind, reason in limits.items():
        used: dict[str, str] = {}
        for name, pool in pools.items():
            if pool.kind == kind:
                used.setdefault(pool.site, name)
        for site, name in list(used.items())[1:]:
            yield (
                f'{NAMESPACE}:pools.{name}.site is "{site}"; allowed: {next(iter(used))}, the site '
                f"of the other pools of kind {kind}, because {reason}."
            )


def hardware(pools: Mapping[str, Pool], versions: Versions | None) -> Iterator[str]:
    """Each pool against what its hardware can carry and what it needs."""
    for name, pool in pools.items():
        path = f"{NAMESPACE}:pools.{name}"
        found = _find(pool.hardware)
        if found is None or found.kind != pool.kind:
            continue
        yield from _tuning(path, pool, found)
        if isinstance(pool, AwsPool):
            yield from rented.faults(path, pool, found)
        if not isinstance(pool, HetznerPool) and found.gpus:
            yield from sharing.faults(path, pool, found, versions)
        yield from extensions.faults(path, found, versions)
        yield from snippets.faults(path, pool)


def teams(teams: Mapping[str, Team], pools: Mapping[str, Pool], *, complete: bool) -> Iterator[str]:
    """Teams against each other, and their queues against the GPUs of the fleet.

    Those are known only where there are pools and every one of them was read.
    """
    known = complete and all(_find(pool.hardware) is not None for pool in pools.values())
    gpus = {name: gpu_count(pool) for name, pool in pools.items()} if known else {}
    first: dict[str, str] = {}
    for team, entry in teams.items():
        for name, queue in entry.queues.items():
            path = f"{NAMESPACE}:teams.{team}.queues.{name}"
            taken = first.setdefault(name, path)
            if taken != path:
                yield f"{path} is {taken} too; allowed: a name that no other team's queue has."
            if name in RESERVED_QUEUES:
                yield f"{path} is a queue that Volcano makes itself; allowed: any other name."
            elif name in RESERVED_NAMESPACES or name.startswith(RESERVED_PREFIXES):
                yield (
                    f"{path} would be the namespace of a part of the cluster; allowed: any other "
                    "name."
                )
            if gpus:
                yield from _room(path, queue, gpus)


def _room(path: str, queue: Queue, gpus: Mapping[str, int]) -> Iterator[str]:
    """A queue against the GPUs of its pool, or of all pools."""
    if queue.pool is not None and not gpus.get(queue.pool):
        fitting = ", ".join(name for name, count in gpus.items() if count) or "there is none"
        yield wrong(f"{path}.pool", queue.pool, f"a pool with GPUs ({fitting})")
        return
    most = sum(gpus.values()) if queue.pool is None else gpus[queue.pool]
    if queue.gpus > most:
        of = "all pools" if queue.pool is None else f"pool {queue.pool}"
        yield wrong(f"{path}.gpus", queue.gpus, f"at most the {most} GPUs of {of}")


def lakefs(
    lakefs: Lakefs | None, sites: Mapping[str, object], pools: Mapping[str, object]
) -> Iterator[str]:
    """The bucket of lakeFS is on AWS; a repository has a name and a prefix of its own."""
    if lakefs is None:
        return
    path = f"{NAMESPACE}:lakefs"
    fitting = sorted(name for name, site in sites.items() if _text(site, "kind") == "aws")
    if lakefs.site not in fitting:
        allowed = f"a site of kind aws ({', '.join(fitting) or 'there is none'})"
        yield wrong(f"{path}.site", lakefs.site, allowed)
    kinds = {_text(pool, "kind") for pool in pools.values()}
    if lakefs.tls_secret is not None and kinds <= set(SITE_KIND) and "hetzner" not in kinds:
        yield (
            f'{path}.tls_secret is "{lakefs.tls_secret}", but no pool is of kind hetzner, whose '
            "load balancer would serve the endpoint; allowed: nothing, and a way of your own."
        )
    if lakefs.tls_secret is not None and ":" in lakefs.endpoint.removeprefix("https://"):
        yield (
            f'{path}.tls_secret is "{lakefs.tls_secret}" and {path}.endpoint is '
            f'"{lakefs.endpoint}"; allowed: an endpoint without a port, as the load balancer has.'
        )
    host = lakefs.endpoint.removeprefix("https://").partition(":")[0]
    if lakefs.tls_secret is not None and host.rpartition(".")[2].isdigit():
        yield (
            f'{path}.endpoint is "{lakefs.endpoint}" and {path}.tls_secret is '
            f'"{lakefs.tls_secret}"; allowed: a name, because an Ingress takes no address.'
        )
    for position, name in enumerate(lakefs.repositories):
        if name in lakefs.repositories[:position]:
            yield wrong(f"{path}.repositories[{position}]", name, "a name that stands there once")


def monitoring(chosen: Monitoring | None, pools: Mapping[str, object]) -> Iterator[str]:
    """Series need a volume: of Hetzner where a pool is theirs, else of a class that is named."""
    kinds = {_text(pool, "kind") for pool in pools.values()}
    known = bool(kinds) and kinds <= set(SITE_KIND)
    if chosen is not None and chosen.storage_class is None and known and "hetzner" not in kinds:
        yield (
            f"{NAMESPACE}:monitoring.storage_class is missing, and no pool is of kind hetzner, "
            "whose volumes would keep the series; allowed: the name of a storage class of the "
            "cluster."
        )


def gpu_count(pool: Pool) -> int:
    """The most GPUs that a pool can bring; 0 where its hardware is unknown."""
    hardware = _find(pool.hardware)
    if isinstance(pool, AwsPool):
        return pool.gpu_limit
    machine_count = pool.nodes if isinstance(pool, HetznerPool) else len(pool.machines)
    return machine_count * hardware.gpu_count if hardware is not None else 0


def _text(entry: object, key: str) -> str | None:
    value = entry.get(key) if isinstance(entry, Mapping) else None
    return value if isinstance(value, str) else None


def _site(path: str, kind: str, site: str, kinds: Mapping[str, str | None]) -> Iterator[str]:
    wanted = SITE_KIND[kind]
    fitting = sorted(name for name, other in kinds.items() if other == wanted)
    allowed = f"a site of kind {wanted} ({', '.join(fitting) or 'there is none'})"
    if site not in kinds:
        yield wrong(path, site, allowed)
    elif kinds[site] in SITE_KIND.values() and kinds[site] != wanted:
        yield f'{path} is "{site}", a site of kind {kinds[site]}; allowed: {allowed}.'


def _find(name: str) -> Hardware | None:
    return catalogue.load(name) if name in catalogue.names() else None


def _hardware_of(kind: str, machine: str) -> str:
    """The machines of the catalogue that fit a pool's kind, and the nearest name."""
    fitting = [name for name in catalogue.names() if catalogue.load(name).kind == kind]
    near = difflib.get_close_matches(machine, fitting, n=1, cutoff=0.5)
    offer = f"; the nearest is {near[0]}" if near else ""
    article = "an" if kind == "aws" else "a"
    return f"{article} {kind} machine of the catalogue ({', '.join(fitting)}){offer}"


def _tuning(path: str, pool: Pool, hardware: Hardware) -> Iterator[str]:
    try:
        numa_plan.plan(hardware, pool.tuning, pool.purpose)
    except numa_plan.PlanError as error:
        yield f"{path}.{error}."
