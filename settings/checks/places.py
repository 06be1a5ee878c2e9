"""Checks of address ranges, and of the site and hardware of each pool."""

import difflib
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network
from itertools import combinations

from hardware import catalogue
from hardware.catalogue import Hardware
from settings.names import PROJECT
from settings.pools import PoolSettings
from settings.problems import Mistake, wrong
from settings.types import Cluster, OnPremSite, Site

SITE_KIND: Mapping[str, str] = {"bare-metal": "on-prem", "aws": "aws", "hetzner": "hetzner"}
"""The kind of site for each kind of pool."""


def range_mistakes(cluster: Cluster | None, sites: Mapping[str, Site]) -> Iterator[str]:
    """Yield ranges that overlap: sites, tunnels, pods and services route to each other."""
    named = {f"{PROJECT}:sites.{name}.cidr": site.cidr for name, site in sites.items()}
    for name, site in sites.items():
        if isinstance(site, OnPremSite) and site.tunnel is not None:
            named[f"{PROJECT}:sites.{name}.tunnel.network"] = site.tunnel.network
    if cluster is not None:
        named[f"{PROJECT}:cluster.pod_cidr"] = cluster.pod_cidr
        named[f"{PROJECT}:cluster.service_cidr"] = cluster.service_cidr
    for (path, cidr), (other_path, other_cidr) in combinations(named.items(), 2):
        if IPv4Network(cidr).overlaps(IPv4Network(other_cidr)):
            yield wrong(path, cidr, f"a range that does not overlap {other_path} ({other_cidr})")


def place_mistakes(pools: Mapping[str, object], sites: Mapping[str, object]) -> Iterator[str]:
    """Yield pools whose site or hardware is not of their kind; reads invalid entries, too."""
    kinds = {name: text_of(site, "kind") for name, site in sites.items()}
    for name, pool in pools.items():
        path = f"{PROJECT}:pools.{name}"
        kind, site, machine = (text_of(pool, key) for key in ("kind", "site", "hardware"))
        if kind is None or kind not in SITE_KIND:
            continue
        if site is not None:
            yield from _site_mistakes(f"{path}.site", kind, site, kinds)
        if machine is not None:
            found = catalogue.load(machine) if machine in catalogue.names() else None
            if found is not None and found.kind not in SITE_KIND:
                yield Mistake(
                    f"{path}.hardware",
                    f' is "{machine}", a machine of kind {found.kind}, which no '
                    f"kind of pool can start; allowed: {_fitting(kind, machine)}.",
                )
            elif found is None or found.kind != kind:
                yield wrong(f"{path}.hardware", machine, _fitting(kind, machine))


def single_site_mistakes(pools: Mapping[str, PoolSettings]) -> Iterator[str]:
    """Yield pools in a second AWS region or a second Hetzner network."""
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
            yield Mistake(
                f"{PROJECT}:pools.{name}.site",
                f' is "{site}"; allowed: {next(iter(used))}, the site '
                f"of the other pools of kind {kind}, because {reason}.",
            )


def hardware_of(kind: str, name: str) -> Hardware | None:
    """Return a machine of the catalogue; None where a pool of this kind cannot have it."""
    found = catalogue.load(name) if name in catalogue.names() else None
    return found if found is not None and found.kind == kind else None


def text_of(entry: object, key: str) -> str | None:
    """Return the text at a key of an entry that may be invalid; None where there is none."""
    value = entry.get(key) if isinstance(entry, Mapping) else None
    return value if isinstance(value, str) else None


def _site_mistakes(
    path: str, kind: str, site: str, kinds: Mapping[str, str | None]
) -> Iterator[str]:
    wanted = SITE_KIND[kind]
    fitting = sorted(name for name, other in kinds.items() if other == wanted)
    allowed = f"a site of kind {wanted} ({', '.join(fitting) or 'there is none'})"
    if site not in kinds:
        yield wrong(path, site, allowed)
    elif kinds[site] in SITE_KIND.values() and kinds[site] != wanted:
        yield Mistake(path, f' is "{site}", a site of kind {kinds[site]}; allowed: {allowed}.')


def _fitting(kind: str, machine: str) -> str:
    """Return the machines of the catalogue that fit a kind of pool, and the nearest name."""
    fitting = [name for name in catalogue.names() if catalogue.load(name).kind == kind]
    near = difflib.get_close_matches(machine, fitting, n=1, cutoff=0.5)
    offer = f"; the nearest is {near[0]}" if near else ""
    article = "an" if kind == "aws" else "a"
    return f"{article} {kind} machine of the catalogue ({', '.join(fitting)}){offer}"
