"""Registers the components of an environment with their providers, and exports its summary."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws
import pulumi_hcloud as hcloud
import pulumi_kubernetes as kubernetes

from components.network.hetzner import HetznerNetwork, HetznerNetworkArgs
from components.platform.karpenter.release import Karpenter
from components.pools.aws_gpu import AwsGpuPool, AwsGpuPoolArgs
from components.pools.bare_metal import BareMetalPool, BareMetalPoolArgs, BmcCredentials
from components.pools.boot import ClusterJoin, PoolBoot
from components.pools.hetzner import HetznerPool, HetznerPoolArgs
from ignition.write.render import tuning_ignition
from policies.environment import Environment
from settings import (
    AwsPoolSettings,
    AwsSite,
    BareMetalPoolSettings,
    HetznerPoolSettings,
    HetznerSite,
    ResolvedPool,
    Settings,
    Site,
    Tunnel,
)
from settings.node_boot import NodeVersions, node_boot, node_versions
from settings.tunnels import of_site
from settings.versions import KARPENTER_CRD, LAKEFS_IMAGE_TAG, VOLCANO
from stacks.cluster_platform import cluster_platform
from stacks.lakefs_storage import lakefs
from stacks.tunnels import gateways, tunnel_end

Secrets = Mapping[str, pulumi.Output[str]]
Summary = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class PoolContext:
    """The parts of an environment that its pools need: sites, secrets, networks, Karpenter."""

    sites: Mapping[str, Site]
    secrets: Secrets
    networks: Mapping[str, HetznerNetwork]
    karpenter: Mapping[str, Karpenter]


def compose(environment: Environment, secrets: Secrets) -> None:
    """Register every resource of an environment and export its summary."""
    settings = environment.settings
    cluster = kubernetes.Provider("cluster", kubeconfig=secrets["kubeconfig"])
    on_cluster = pulumi.ResourceOptions(providers=[cluster])
    at_site = _site_options(settings, secrets, cluster)
    networks = _networks(settings, at_site)
    versions = node_versions(settings.versions)
    context = PoolContext(
        sites=settings.sites,
        secrets=secrets,
        networks=networks,
        karpenter=cluster_platform(environment, secrets, networks, at_site, on_cluster),
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
        boot = pool_boot(join, versions, pool, of_site(settings.sites[pool.site]))
        made = _register(context, boot, at_site[pool.site])
        summaries[name] = {"kind": pool.declared.kind, **_facts(pool), **made}
    pulumi.export("gateways", gateways(settings, secrets, networks, at_site, versions.flatcar))
    _export(settings, versions, summaries)


def _site_options(
    settings: Settings, secrets: Secrets, cluster: kubernetes.Provider
) -> dict[str, pulumi.ResourceOptions]:
    """Return the providers of each site: the cluster's, and at a cloud site the cloud's."""
    hetzner: list[pulumi.ProviderResource] = []
    if "hcloud_token" in secrets:
        hetzner = [hcloud.Provider("hetzner", token=secrets["hcloud_token"])]
    found = {}
    for name, site in settings.sites.items():
        cloud: list[pulumi.ProviderResource] = []
        if isinstance(site, AwsSite):
            cloud = [aws.Provider(f"aws-{name}", region=site.region)]
        elif isinstance(site, HetznerSite):
            cloud = hetzner
        found[name] = pulumi.ResourceOptions(providers=[cluster, *cloud])
    return found


def _networks(
    settings: Settings, at_site: Mapping[str, pulumi.ResourceOptions]
) -> dict[str, HetznerNetwork]:
    """Register a network for each Hetzner site with a pool."""
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
        if isinstance(site, HetznerSite) and name in used
    }


def pool_boot(
    join: ClusterJoin, node: NodeVersions, pool: ResolvedPool, tunnel: Tunnel | None = None
) -> PoolBoot:
    """Return a pool with the Ignition that its machines boot from."""
    boot = node_boot(pool, node, tunnel)
    return PoolBoot(
        cluster=join,
        pool=pool,
        flatcar=node.flatcar,
        ignition=tuning_ignition(boot),
        efa=boot.efa is not None,
    )


def _register(context: PoolContext, boot: PoolBoot, opts: pulumi.ResourceOptions) -> Summary:
    """Register the component of a pool, and return its exports."""
    match boot.pool.declared:
        case BareMetalPoolSettings() as pool:
            return _bare_metal(context, boot, pool, opts)
        case AwsPoolSettings() as pool:
            crds = context.karpenter[boot.pool.site].crds
            aws_args = AwsGpuPoolArgs(boot=boot, pool=pool, crds=crds)
            image = AwsGpuPool(boot.pool.name, aws_args, opts).image_id
            return {"gpu_limit": boot.pool.gpus, "image": image}
        case HetznerPoolSettings() as pool:
            network = context.networks[boot.pool.site]
            args = HetznerPoolArgs(boot=boot, pool=pool, network=network)
            made = HetznerPool(boot.pool.name, args, opts)
            return {"nodes": made.node_names, "image": made.image_id}


def _bare_metal(
    context: PoolContext,
    boot: PoolBoot,
    pool: BareMetalPoolSettings,
    opts: pulumi.ResourceOptions,
) -> Summary:
    secrets, site = context.secrets, context.sites[boot.pool.site]
    ends = {machine.name: tunnel_end(secrets, site, machine) for machine in pool.machines}
    args = BareMetalPoolArgs(
        boot=boot,
        pool=pool,
        bmc=BmcCredentials(username=secrets["bmc_username"], password=secrets["bmc_password"]),
        tunnels={name: end for name, end in ends.items() if end is not None},
    )
    return {"nodes": BareMetalPool(boot.pool.name, args, opts).node_names}


def _facts(pool: ResolvedPool) -> Summary:
    return {
        "site": pool.site,
        "hardware": pool.hardware.name,
        "purpose": pool.plan.purpose,
        "numa_plan": pool.plan.digest,
        "gpus_per_node": pool.hardware.gpu_count,
        "usd_per_node_hour": pool.hardware.usd_per_hour,
    }


def _export(settings: Settings, node: NodeVersions, pools: Mapping[str, Summary]) -> None:
    """Export the summary of the environment, which holds no secret."""
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
