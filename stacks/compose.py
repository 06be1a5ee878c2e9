"""Registers the components of an environment with their providers, and exports its summary."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import pulumi
import pulumi_aws as aws
import pulumi_hcloud as hcloud
import pulumi_kubernetes as kubernetes

from components.network.hetzner import HetznerNetwork, HetznerNetworkArgs
from components.platform.join_tokens import JoinTokens, JoinTokensArgs
from components.platform.karpenter.release import Karpenter
from components.pools.aws_gpu import AwsGpuPool, AwsGpuPoolArgs
from components.pools.bare_metal import BareMetalPool, BareMetalPoolArgs, BmcCredentials
from components.pools.boot import Cluster, ClusterJoin, PoolBoot
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
from stacks.allowance import check_allowance
from stacks.cluster_platform import Machines, NodeNeeds, after, cluster_platform, node_needs
from stacks.lakefs_storage import lakefs
from stacks.tunnels import gateway_args, gateways, tunnel_end

Secrets = Mapping[str, pulumi.Output[str]]
Summary = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class PoolContext:
    """What pools need of their environment; `needs` is what their nodes need to become Ready."""

    sites: Mapping[str, Site]
    secrets: Secrets
    networks: Mapping[str, HetznerNetwork]
    needs: NodeNeeds


def compose(environment: Environment, secrets: Secrets) -> None:
    """Register every resource of an environment and export its summary."""
    settings = environment.settings
    cluster = kubernetes.Provider(
        "cluster",
        kubeconfig=secrets["kubeconfig"],
        # without it a new CA, address or proxy in the kubeconfig replaces every object
        cluster_identifier=settings.cluster.name,
        # else the provider deletes a Secret or ConfigMap to change it
        enable_secret_mutable=True,
        enable_config_map_mutable=True,
    )
    on_cluster = pulumi.ResourceOptions(providers=[cluster])
    at_site = _site_options(settings, secrets, cluster)
    networks = _networks(settings, at_site)
    versions = node_versions(settings.versions)
    gateways_planned = gateway_args(settings, secrets, networks, versions.flatcar)
    known = settings.cluster
    joined = Cluster(name=known.name, endpoint=known.endpoint, ca_cert_hash=known.ca_cert_hash)
    tokens = _join_tokens(settings, joined, at_site, on_cluster)
    join = ClusterJoin(**asdict(joined), seed=tokens.seed)
    boots = {
        name: pool_boot(join, versions, pool, of_site(settings.sites[pool.site]))
        for name, pool in settings.pools.items()
    }
    check_allowance(settings, boots, gateways_planned, at_site)
    needs = node_needs(settings, secrets, networks, on_cluster)
    context = PoolContext(sites=settings.sites, secrets=secrets, networks=networks, needs=needs)
    pulumi.export("gateways", gateways(gateways_planned, at_site))
    owned = {
        name: _owned(context, boot, at_site[boot.pool.site])
        for name, boot in boots.items()
        if not boot.pool.rented
    }
    machines = Machines(needs=needs, ready=_ready(settings, owned))
    karpenter = cluster_platform(environment, secrets, machines, at_site, on_cluster)
    lakefs(settings, secrets, {name: after(at_site[name], machines.ready) for name in at_site})
    rented = {
        name: _rented(context, karpenter[boot.pool.site], boot, at_site[boot.pool.site])
        for name, boot in boots.items()
        if boot.pool.rented
    }
    made = {**{name: _summary(pool) for name, pool in owned.items()}, **rented}
    summaries = {
        name: {"kind": pool.declared.kind, **_facts(pool), **made[name]}
        for name, pool in settings.pools.items()
    }
    _export(settings, versions, summaries)


def _ready(
    settings: Settings, owned: Mapping[str, HetznerPool | BareMetalPool]
) -> list[pulumi.Resource]:
    """Return what is there once all machines for controllers are Ready; GPU nodes are tainted."""
    hosts = [pool for name, pool in owned.items() if not settings.pools[name].hardware.gpu_count]
    return [each for pool in hosts for each in pool.ready]


def _join_tokens(
    settings: Settings,
    cluster: Cluster,
    at_site: Mapping[str, pulumi.ResourceOptions],
    on_cluster: pulumi.ResourceOptions,
) -> JoinTokens:
    """Register what deletes used tokens; with the provider of AWS where it also makes tokens."""
    burst = {name: pool.site for name, pool in settings.pools.items() if pool.rented}
    where = next(iter(burst.values()), "")
    site = settings.sites.get(where)
    args = JoinTokensArgs(
        cluster=cluster,
        region=site.region if isinstance(site, AwsSite) else None,
        burst=tuple(burst),
    )
    return JoinTokens("join-tokens", args, at_site.get(where, on_cluster))


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
    )


def _owned(
    context: PoolContext, boot: PoolBoot, opts: pulumi.ResourceOptions
) -> HetznerPool | BareMetalPool:
    """Register the component of a pool whose machines are always there."""
    match boot.pool.declared:
        case BareMetalPoolSettings() as pool:
            return _bare_metal(context, boot, pool, opts)
        case HetznerPoolSettings() as pool:
            args = HetznerPoolArgs(
                boot=boot,
                pool=pool,
                network=context.networks[boot.pool.site],
                after=context.needs.resources,
            )
            return HetznerPool(boot.pool.name, args, opts)
        case AwsPoolSettings():
            raise TypeError(f"pool {boot.pool.name} is rented")


def _summary(pool: HetznerPool | BareMetalPool) -> Summary:
    """Return the exports of a pool whose machines are always there."""
    nodes: Summary = {"nodes": pool.node_names}
    return {**nodes, "image": pool.image_id} if isinstance(pool, HetznerPool) else nodes


def _rented(
    context: PoolContext, karpenter: Karpenter, boot: PoolBoot, opts: pulumi.ResourceOptions
) -> Summary:
    """Register the component of a pool whose machines Karpenter rents, and return its exports."""
    pool = boot.pool.declared
    if not isinstance(pool, AwsPoolSettings):
        raise TypeError(f"pool {boot.pool.name} is not rented")
    site = context.sites[boot.pool.site]
    args = AwsGpuPoolArgs(
        boot=boot,
        pool=pool,
        vpc=site.vpc if isinstance(site, AwsSite) else None,
        karpenter=karpenter.controller,
    )
    return {"gpu_limit": boot.pool.gpus, "image": AwsGpuPool(boot.pool.name, args, opts).image_id}


def _bare_metal(
    context: PoolContext,
    boot: PoolBoot,
    pool: BareMetalPoolSettings,
    opts: pulumi.ResourceOptions,
) -> BareMetalPool:
    secrets, site = context.secrets, context.sites[boot.pool.site]
    ends = {machine.name: tunnel_end(secrets, site, machine) for machine in pool.machines}
    args = BareMetalPoolArgs(
        boot=boot,
        pool=pool,
        bmc=BmcCredentials(username=secrets["bmc_username"], password=secrets["bmc_password"]),
        tunnels={name: end for name, end in ends.items() if end is not None},
        after=context.needs.resources,
    )
    return BareMetalPool(boot.pool.name, args, opts)


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
