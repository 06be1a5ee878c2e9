"""What a cluster gets beside its pools, from the settings of its environment."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pulumi

import settings as fleet
from components.network.hetzner import HetznerNetwork
from components.platform.admission import Admission, AdmissionArgs
from components.platform.cilium import Cilium, CiliumArgs
from components.platform.gpu_operator import GpuOperator, GpuOperatorArgs
from components.platform.hetzner_cloud import STORAGE_CLASS, HetznerCloud, HetznerCloudArgs
from components.platform.karpenter.release import Karpenter, KarpenterArgs
from components.platform.kured import Kured, KuredArgs, RebootWindow
from components.platform.monitoring.cost import PoolGpus
from components.platform.monitoring.dcgm import exporter_values
from components.platform.monitoring.release import NAMESPACE as MONITORING
from components.platform.monitoring.release import Monitoring, MonitoringArgs
from components.platform.node_check import NodeCheck
from components.platform.pool_domains import PoolDomains, PoolDomainsArgs
from components.platform.priority_classes import PriorityClasses
from components.platform.queue_shares import QueueShare
from components.platform.teams import Teams, TeamsArgs, TeamShare
from components.platform.volcano import Volcano, VolcanoArgs
from components.pools.aws_boot import node_role
from hardware.catalogue import Hardware, load
from policies.configuration import configure
from policies.gates import alerts
from policies.gates.admission import manifests
from settings.checks import gpu_count
from stacks.nodes import sharing, system_pools

SiteOptions = Mapping[str, pulumi.ResourceOptions]


def foundation(
    settings: fleet.Settings,
    secrets: Mapping[str, pulumi.Output[str]],
    networks: Mapping[str, HetznerNetwork],
    at_site: SiteOptions,
    on_cluster: pulumi.ResourceOptions,
) -> dict[str, Karpenter]:
    """Register what every pool finds in its cluster; Karpenter by the site that it works in."""
    Admission("admission", _admission(settings), on_cluster)
    Cilium("cilium", _cilium(settings, networks), on_cluster)
    for network in networks.values():
        args = HetznerCloudArgs(token=secrets["hcloud_token"], network=network.network_name)
        HetznerCloud("hetzner-cloud", args, on_cluster)
    volcano = Volcano("volcano", VolcanoArgs(pools=_pools_of_queues(settings)), on_cluster)
    domains = PoolDomainsArgs(pools=_gpu_machines(settings), crds=volcano.release)
    PoolDomains("pools", domains, on_cluster)
    PriorityClasses("priority", on_cluster)
    NodeCheck("node-check", on_cluster)
    Kured("kured", KuredArgs(window=_window(settings)), on_cluster)
    Teams("teams", _teams(settings, volcano), on_cluster)
    monitoring = _monitoring(settings, secrets, on_cluster)
    GpuOperator("gpu-operator", _gpu_operator(settings, monitoring), on_cluster)
    return _karpenter(settings, at_site)


def _admission(settings: fleet.Settings) -> AdmissionArgs:
    rules = configure(settings.policies)
    today = datetime.now(UTC).date()
    return AdmissionArgs(manifests=manifests(rules, stage=settings.admission, today=today))


def _cilium(settings: fleet.Settings, networks: Mapping[str, HetznerNetwork]) -> CiliumArgs:
    """With a way in from outside only where lakeFS wants one; the settings ask for Hetzner then."""
    way_in = settings.lakefs is not None and settings.lakefs.tls_secret is not None
    locations = [network.location for network in networks.values() if way_in]
    return CiliumArgs(
        pod_cidr=settings.cluster.pod_cidr,
        endpoint=settings.cluster.endpoint,
        ingress_location=locations[0] if locations else None,
    )


def _karpenter(settings: fleet.Settings, at_site: SiteOptions) -> dict[str, Karpenter]:
    """Karpenter by the site that it works in; nothing where no pool is on AWS."""
    rented = {name: pool for name, pool in settings.pools.items() if pool.kind == "aws"}
    for name, site in settings.sites.items():
        if isinstance(site, fleet.AwsSite) and name in {pool.site for pool in rented.values()}:
            args = KarpenterArgs(
                cluster=settings.cluster.name,
                endpoint=f"https://{settings.cluster.endpoint}",
                region=site.region,
                node_roles=[node_role(settings.cluster.name, pool) for pool in rented],
                system_pools=system_pools(settings),
            )
            return {name: Karpenter("karpenter", args, at_site[name])}
    return {}


def _monitoring(
    settings: fleet.Settings,
    secrets: Mapping[str, pulumi.Output[str]],
    on_cluster: pulumi.ResourceOptions,
) -> Monitoring:
    """Prometheus; without a class of its own its series lie on a volume of Hetzner's."""
    rented = {
        name: pool.gpu_limits
        for name, pool in settings.pools.items()
        if isinstance(pool, fleet.AwsPool)
    }
    gpus = {
        name: PoolGpus.of(found, rented.get(name, ()))
        for name, found in _gpu_machines(settings).items()
    }
    chosen = settings.monitoring
    key = secrets["pagerduty_routing_key"] if chosen.pager == "pagerduty" else None
    args = MonitoringArgs(
        pools=gpus,
        storage_class=chosen.storage_class or STORAGE_CLASS,
        alerts=[alerts.manifest(configure(settings.policies), namespace=MONITORING)],
        pagerduty_routing_key=key,
    )
    return Monitoring("monitoring", args, on_cluster)


def _gpu_operator(settings: fleet.Settings, monitoring: Monitoring) -> GpuOperatorArgs:
    shared = {name: sharing(pool) for name, pool in settings.pools.items()}
    return GpuOperatorArgs(
        pools={name: found for name, found in shared.items() if found is not None},
        dcgm_exporter=exporter_values(),
        monitors=monitoring.release,
    )


def _window(settings: fleet.Settings) -> RebootWindow | None:
    chosen = settings.reboots
    if chosen is None:
        return None
    return RebootWindow(
        days=chosen.days, start=chosen.start, end=chosen.end, time_zone=chosen.time_zone
    )


def _teams(settings: fleet.Settings, volcano: Volcano) -> TeamsArgs:
    shares = {
        name: TeamShare(
            cost_centre=team.cost_centre,
            queues={
                queue: QueueShare(weight=bounds.weight, gpus=bounds.gpus, pool=bounds.pool)
                for queue, bounds in team.queues.items()
            },
        )
        for name, team in settings.teams.items()
    }
    rented = frozenset(name for name, pool in settings.pools.items() if pool.kind == "aws")
    gpus = {name: gpu_count(pool) for name, pool in settings.pools.items()}
    pools = {name: count for name, count in gpus.items() if count}
    return TeamsArgs(teams=shares, pools=pools, rented=rented, crds=volcano.release)


def _pools_of_queues(settings: fleet.Settings) -> dict[str, str]:
    return {
        name: queue.pool
        for team in settings.teams.values()
        for name, queue in team.queues.items()
        if queue.pool is not None
    }


def _gpu_machines(settings: fleet.Settings) -> dict[str, Hardware]:
    """What the pools with GPUs are made of."""
    machines = {name: load(pool.hardware) for name, pool in settings.pools.items()}
    return {name: found for name, found in machines.items() if found.gpu_count}
