"""From settings to components: providers are made here and nowhere else, and so is the summary."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws
import pulumi_hcloud as hcloud
import pulumi_kubernetes as kubernetes

import settings as fleet
from components.network.hetzner import HetznerNetwork, HetznerNetworkArgs
from components.platform.karpenter.release import Karpenter
from components.pools.aws_gpu import AwsGpuPool, AwsGpuPoolArgs
from components.pools.bare_metal import (
    BareMetalPool,
    BareMetalPoolArgs,
    BmcCredentials,
    Host,
    Image,
)
from components.pools.boot import ClusterJoin, NodeVersions, PoolBoot
from components.pools.hetzner import HetznerPool, HetznerPoolArgs
from settings.tunnels import of_site
from settings.versions import KARPENTER_CRD, LAKEFS_IMAGE_TAG, VOLCANO
from stacks.cluster_platform import foundation
from stacks.lakefs_storage import lakefs
from stacks.nodes import node_versions, pool_boot
from stacks.tunnels import gateways, tunnel_end

Secrets = Mapping[str, pulumi.Output[str]]
Summary = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Ground:
    """What pools stand on: their sites, the secrets, what runs on a node, the parts before them."""

    sites: Mapping[str, fleet.Site]
    secrets: Secrets
    versions: NodeVersions
    networks: Mapping[str, HetznerNetwork]
    karpenter: Mapping[str, Karpenter]


def compose(settings: fleet.Settings, secrets: Secrets) -> None:
    """Register every resource of an environment and export its summary."""
    cluster = kubernetes.Provider("cluster", kubeconfig=secrets["kubeconfig"])
    at_site = _site_options(settings, secrets, cluster)
    networks = _networks(settings, at_site)
    ground = Ground(
        sites=settings.sites,
        secrets=secrets,
        versions=node_versions(settings.versions),
        networks=networks,
        karpenter=foundation(
            settings, secrets, networks, at_site, pulumi.ResourceOptions(providers=[cluster])
        ),
    )
    lakefs(settings, secrets, at_site)
    join = ClusterJoin(
        name=settings.cluster.name,
        endpoint=settings.cluster.endpoint,
        ca_cert_hash=settings.cluster.ca_cert_hash,
        token=secrets["join_token"],
    )
    summaries = {}
    for name, pool in settings.pools.items():
        tunnel = of_site(settings.sites[pool.site])
        boot = pool_boot(join, ground.versions, name, pool, tunnel)
        made = POOLS[pool.kind](ground, boot, pool, at_site[pool.site])
        summaries[name] = {"kind": pool.kind, **_facts(boot), **made}
    addresses = gateways(settings, secrets, networks, at_site, ground.versions.flatcar)
    pulumi.export("gateways", addresses)
    _export(settings, ground.versions, summaries)


def _site_options(
    settings: fleet.Settings, secrets: Secrets, cluster: kubernetes.Provider
) -> dict[str, pulumi.ResourceOptions]:
    """The providers of each site: the one cluster's, and the cloud's where it is one."""
    hetzner: list[pulumi.ProviderResource] = []
    if "hcloud_token" in secrets:
        hetzner = [hcloud.Provider("hetzner", token=secrets["hcloud_token"])]
    found = {}
    for name, site in settings.sites.items():
        cloud: list[pulumi.ProviderResource] = []
        if isinstance(site, fleet.AwsSite):
            cloud = [aws.Provider(f"aws-{name}", region=site.region)]
        elif isinstance(site, fleet.HetznerSite):
            cloud = hetzner
        found[name] = pulumi.ResourceOptions(providers=[cluster, *cloud])
    return found


def _networks(
    settings: fleet.Settings, at_site: Mapping[str, pulumi.ResourceOptions]
) -> dict[str, HetznerNetwork]:
    """A network for each Hetzner site that has a pool."""
    used = {pool.site for pool in settings.pools.values()}
    return {
        name: HetznerNetwork(
            name,
            HetznerNetworkArgs(
                cluster=settings.cluster.name, site=name, cidr=site.cidr, location=site.location
            ),
            at_site[name],
        )
        for name, site in settings.sites.items()
        if isinstance(site, fleet.HetznerSite) and name in used
    }


def _bare_metal(
    ground: Ground, boot: PoolBoot, pool: fleet.BareMetalPool, opts: pulumi.ResourceOptions
) -> Summary:
    hosts = [
        Host(
            name=machine.name,
            bmc_address=machine.bmc_address,
            boot_mac_address=machine.boot_mac_address,
            tunnel=tunnel_end(ground.secrets, ground.sites[pool.site], machine),
        )
        for machine in pool.machines
    ]
    args = BareMetalPoolArgs(
        boot=boot,
        hosts=hosts,
        image=Image(url=pool.image.url, sha512=pool.image.sha512, format=pool.image.format),
        bmc=BmcCredentials(
            username=ground.secrets["bmc_username"], password=ground.secrets["bmc_password"]
        ),
        flatcar=ground.versions.flatcar,
    )
    return {"nodes": BareMetalPool(boot.pool, args, opts).node_names}


def _aws(
    ground: Ground, boot: PoolBoot, pool: fleet.AwsPool, opts: pulumi.ResourceOptions
) -> Summary:
    args = AwsGpuPoolArgs(
        boot=boot,
        gpu_limits=pool.gpu_limits,
        crds=ground.karpenter[boot.site].crds,
        flatcar=ground.versions.flatcar,
        consolidate_after_minutes=pool.consolidate_after_minutes,
        expire_after_hours=pool.expire_after_hours,
        reserved_until=pool.reserved_until,
    )
    return {"gpu_limit": pool.gpu_limit, "image": AwsGpuPool(boot.pool, args, opts).image_id}


def _hetzner(
    ground: Ground, boot: PoolBoot, pool: fleet.HetznerPool, opts: pulumi.ResourceOptions
) -> Summary:
    args = HetznerPoolArgs(
        boot=boot,
        network=ground.networks[boot.site],
        nodes=pool.nodes,
        flatcar=ground.versions.flatcar,
    )
    made = HetznerPool(boot.pool, args, opts)
    return {"nodes": made.node_names, "image": made.image_id}


# which component a pool of each kind becomes
POOLS: Mapping[str, Callable[..., Summary]] = {
    "bare-metal": _bare_metal,
    "aws": _aws,
    "hetzner": _hetzner,
}


def _facts(boot: PoolBoot) -> Summary:
    return {
        "site": boot.site,
        "hardware": boot.hardware.name,
        "purpose": boot.plan.purpose,
        "numa_plan": boot.plan.digest,
        "gpus_per_node": boot.hardware.gpu_count,
        "usd_per_node_hour": boot.hardware.usd_per_hour,
    }


def _export(settings: fleet.Settings, node: NodeVersions, pools: Mapping[str, Summary]) -> None:
    """What a user of the fleet wants to know of it; nothing secret."""
    pulumi.export("environment", settings.environment)
    pulumi.export("endpoint", settings.cluster.endpoint)
    pulumi.export(
        "sites",
        {name: {"kind": site.kind, "cidr": site.cidr} for name, site in settings.sites.items()},
    )
    pulumi.export("pools", pools)
    pulumi.export(
        "teams",
        {
            name: {queue: bounds.gpus for queue, bounds in team.queues.items()}
            for name, team in settings.teams.items()
        },
    )
    pulumi.export(
        "versions",
        {
            "flatcar": node.flatcar,
            "kubernetes": node.kubernetes,
            "nvidia_driver": node.nvidia_driver,
            "volcano": VOLCANO.version,
            "karpenter": KARPENTER_CRD.version,
            "lakefs": LAKEFS_IMAGE_TAG,
        },
    )
