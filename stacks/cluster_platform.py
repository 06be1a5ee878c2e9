"""Registers the parts of a cluster that all its pools share.

A module `stacks/platform.py` would hide the standard library's, and `stacks/lakefs.py` the package:
when Pulumi runs the program, `stacks/` comes first in sys.path.
"""

from collections.abc import Mapping
from datetime import UTC, datetime

import pulumi

from components.network.hetzner import HetznerNetwork
from components.platform.admission import Admission, AdmissionArgs
from components.platform.cilium import Cilium, CiliumArgs
from components.platform.gpu_operator import GpuOperator, GpuOperatorArgs
from components.platform.hetzner_cloud import STORAGE_CLASS, HetznerCloud, HetznerCloudArgs
from components.platform.karpenter.release import Karpenter, KarpenterArgs
from components.platform.kured import Kured, KuredArgs
from components.platform.monitoring.cost import PoolGpus
from components.platform.monitoring.dcgm import exporter_values
from components.platform.monitoring.release import Monitoring, MonitoringArgs
from components.platform.node_check import NodeCheck
from components.platform.pool_domains import PoolDomains, PoolDomainsArgs
from components.platform.priority_classes import PriorityClasses
from components.platform.teams import Teams, TeamsArgs
from components.platform.volcano import Volcano, VolcanoArgs
from components.pools.aws_boot import node_role
from policies.environment import Environment
from policies.gates.admission import manifests
from settings import AwsSite, ResolvedPool, Settings

Secrets = Mapping[str, pulumi.Output[str]]
SiteOptions = Mapping[str, pulumi.ResourceOptions]


def cluster_platform(
    environment: Environment,
    secrets: Secrets,
    networks: Mapping[str, HetznerNetwork],
    at_site: SiteOptions,
    on_cluster: pulumi.ResourceOptions,
) -> dict[str, Karpenter]:
    """Register the parts that all pools share; return Karpenter by the name of its site."""
    settings = environment.settings
    gpu_pools = {name: pool for name, pool in settings.pools.items() if pool.hardware.gpu_count}
    Admission("admission", _admission(environment), on_cluster)
    Cilium("cilium", _cilium(settings, networks), on_cluster)
    for network in networks.values():
        args = HetznerCloudArgs(token=secrets["hcloud_token"], network=network.network_name)
        HetznerCloud("hetzner-cloud", args, on_cluster)
    volcano = Volcano("volcano", VolcanoArgs(pools=_pools_of_queues(settings)), on_cluster)
    machines = {name: pool.hardware for name, pool in gpu_pools.items()}
    PoolDomains("pools", PoolDomainsArgs(pools=machines, crds=volcano.release), on_cluster)
    PriorityClasses("priority", on_cluster)
    NodeCheck("node-check", on_cluster)
    Kured("kured", KuredArgs(window=settings.reboots), on_cluster)
    teams = TeamsArgs(
        teams=settings.teams,
        pools={name: pool.gpus for name, pool in gpu_pools.items()},
        rented=frozenset(name for name, pool in gpu_pools.items() if pool.rented),
        crds=volcano.release,
    )
    Teams("teams", teams, on_cluster)
    monitoring = Monitoring("monitoring", _monitoring(environment, gpu_pools, secrets), on_cluster)
    GpuOperator("gpu-operator", _gpu_operator(gpu_pools, monitoring), on_cluster)
    return _karpenter(settings, at_site)


def _admission(environment: Environment) -> AdmissionArgs:
    today = datetime.now(UTC).date()
    stage = environment.settings.admission
    return AdmissionArgs(manifests=manifests(environment.rules, stage=stage, today=today))


def _cilium(settings: Settings, networks: Mapping[str, HetznerNetwork]) -> CiliumArgs:
    """Return Cilium's arguments, with an ingress at Hetzner only where lakeFS has a certificate."""
    ingress = settings.lakefs is not None and settings.lakefs.tls_secret is not None
    locations = [network.location for network in networks.values() if ingress]
    return CiliumArgs(
        pod_cidr=settings.cluster.pod_cidr,
        endpoint=settings.cluster.endpoint,
        ingress_location=locations[0] if locations else None,
    )


def _karpenter(settings: Settings, at_site: SiteOptions) -> dict[str, Karpenter]:
    """Register Karpenter, by the name of its site; nothing where no pool is on AWS."""
    rented = {name: pool for name, pool in settings.pools.items() if pool.rented}
    for name, site in settings.sites.items():
        if isinstance(site, AwsSite) and name in {pool.site for pool in rented.values()}:
            args = KarpenterArgs(
                cluster=settings.cluster.name,
                endpoint=f"https://{settings.cluster.endpoint}",
                region=site.region,
                node_roles=[node_role(settings.cluster.name, pool) for pool in rented],
                system_pools=[
                    each for each, pool in settings.pools.items() if not pool.hardware.gpu_count
                ],
            )
            return {name: Karpenter("karpenter", args, at_site[name])}
    return {}


def _monitoring(
    environment: Environment, gpu_pools: Mapping[str, ResolvedPool], secrets: Secrets
) -> MonitoringArgs:
    """Return the arguments of monitoring; its default storage class is Hetzner's."""
    chosen = environment.settings.monitoring
    gpus = {
        name: PoolGpus(
            gpus_per_node=pool.hardware.gpu_count, usd_per_gpu_hour=pool.usd_per_gpu_hour
        )
        for name, pool in gpu_pools.items()
    }
    key = secrets["pagerduty_routing_key"] if chosen.pager == "pagerduty" else None
    return MonitoringArgs(
        pools=gpus,
        storage_class=chosen.storage_class or STORAGE_CLASS,
        rules=environment.rules,
        pagerduty_routing_key=key,
    )


def _gpu_operator(gpu_pools: Mapping[str, ResolvedPool], monitoring: Monitoring) -> GpuOperatorArgs:
    return GpuOperatorArgs(
        pools={name: pool.sharing for name, pool in gpu_pools.items() if pool.sharing is not None},
        dcgm_exporter=exporter_values(),
        monitors=monitoring.release,
    )


def _pools_of_queues(settings: Settings) -> dict[str, str]:
    return {
        name: queue.pool
        for team in settings.teams.values()
        for name, queue in team.queues.items()
        if queue.pool is not None
    }
