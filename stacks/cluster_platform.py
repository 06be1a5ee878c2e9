"""Registers the parts of a cluster that all its pools share, in the order of docs/decisions/0016.

What nodes need to become Ready comes first, then machines, then everything else.

A module `stacks/platform.py` would hide the standard library's, and `stacks/lakefs.py` the package:
when Pulumi runs the program, `stacks/` comes first in sys.path.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pulumi

from components.network.hetzner import HetznerNetwork
from components.platform.admission import Admission, AdmissionArgs
from components.platform.cilium import Cilium, CiliumArgs
from components.platform.gang_buffer import GangBuffer, GangBufferArgs
from components.platform.gpu_operator import GpuOperator, GpuOperatorArgs
from components.platform.hetzner_cloud import STORAGE_CLASS, HetznerCloud, HetznerCloudArgs
from components.platform.karpenter.release import Karpenter, KarpenterArgs
from components.platform.kured import Kured, KuredArgs
from components.platform.metadata_guard import MetadataGuard, MetadataGuardArgs
from components.platform.monitoring.cost import PoolGpus
from components.platform.monitoring.dcgm import exporter_values
from components.platform.monitoring.release import Monitoring, MonitoringArgs
from components.platform.node_check import NodeCheck
from components.platform.pool_domains import PoolDomains, PoolDomainsArgs
from components.platform.priority_classes import PriorityClasses
from components.platform.queue_entry import QueueEntry, QueueEntryArgs
from components.platform.rdma import Rails, RdmaDevices, RdmaDevicesArgs
from components.platform.scratch import Scratch, ScratchArgs
from components.platform.system_network import SystemNetwork, SystemNetworkArgs
from components.platform.teams import Teams, TeamsArgs
from components.platform.volcano import Volcano, VolcanoArgs
from components.pools.aws_boot import node_role
from hardware.cpuset import parse_list
from policies.environment import Environment
from policies.gates.admission import manifests
from settings import AwsSite, BareMetalPoolSettings, OnPremSite, Queue, ResolvedPool, Settings
from settings.fabric import nccl_environment
from settings.karpenter import memory_overhead
from settings.names import (
    GPU,
    GPU_OPERATOR_NAMESPACE,
    KURED_NAMESPACE,
    MONITORING_NAMESPACE,
    NODE_CHECK_NAMESPACE,
    RDMA_NAMESPACE,
    SCRATCH_NAMESPACE,
    VOLCANO_NAMESPACE,
)
from settings.node_boot import node_versions
from settings.operators import OPERATORS
from settings.support import ends

Secrets = Mapping[str, pulumi.Output[str]]
SiteOptions = Mapping[str, pulumi.ResourceOptions]


@dataclass(frozen=True, kw_only=True)
class NodeNeeds:
    """What a node needs to become Ready: the network of pods, at Hetzner the cloud controller."""

    cilium: Cilium
    clouds: tuple[HetznerCloud, ...]

    @property
    def resources(self) -> list[pulumi.Resource]:
        """What machines depend on, so that it comes before them and goes after them."""
        return [self.cilium.release, *(cloud.controller for cloud in self.clouds)]


def node_needs(
    settings: Settings,
    secrets: Secrets,
    networks: Mapping[str, HetznerNetwork],
    on_cluster: pulumi.ResourceOptions,
) -> NodeNeeds:
    """Register what nodes need to become Ready; nothing of it waits for a machine."""
    cilium = Cilium("cilium", _cilium(settings, networks), on_cluster)
    clouds = [
        HetznerCloud(
            "hetzner-cloud",
            HetznerCloudArgs(
                token=secrets["hcloud_token"],
                cluster=settings.cluster.name,
                network=network.network_name,
            ),
            after(on_cluster, [cilium.release]),
        )
        for network in networks.values()
    ]
    if _ingress_locations(settings, networks):
        cilium.load_balancer([cloud.controller for cloud in clouds])
    return NodeNeeds(cilium=cilium, clouds=tuple(clouds))


@dataclass(frozen=True, kw_only=True)
class Machines:
    """`ready` is there once every node that can run controllers is Ready; `needs` was before."""

    needs: NodeNeeds
    ready: Sequence[pulumi.Resource]


def cluster_platform(
    environment: Environment,
    secrets: Secrets,
    machines: Machines,
    at_site: SiteOptions,
    on_cluster: pulumi.ResourceOptions,
) -> dict[str, Karpenter]:
    """Register the parts that all pools share; return Karpenter by the name of its site."""
    settings = environment.settings
    gpu_pools = {name: pool for name, pool in settings.pools.items() if pool.hardware.gpu_count}
    Admission("admission", _admission(environment), on_cluster)
    PriorityClasses("priority", on_cluster)
    on_cluster = after(on_cluster, machines.ready)
    volumes = [cloud.volumes(machines.ready) for cloud in machines.needs.clouds]
    # Cilium's kinds are there: its agents wait for them before a node is Ready
    MetadataGuard("metadata", MetadataGuardArgs(after=machines.ready), on_cluster)
    queues = _queues(settings)
    volcano = Volcano("volcano", _volcano(queues), on_cluster)
    PoolDomains("pools", PoolDomainsArgs(pools=gpu_pools, crds=volcano.release), on_cluster)
    spaces: dict[str, pulumi.Resource] = {NODE_CHECK_NAMESPACE: NodeCheck("node-check", on_cluster)}
    if any(pool.fabric for pool in gpu_pools.values()):
        spaces[RDMA_NAMESPACE] = RdmaDevices("rdma", _rdma(gpu_pools), on_cluster)
    if drives := [name for name, pool in settings.pools.items() if pool.hardware.nvme]:
        spaces[SCRATCH_NAMESPACE] = Scratch("scratch", ScratchArgs(pools=drives), on_cluster)
    kured = Kured("kured", KuredArgs(window=settings.reboots), on_cluster)
    teams = Teams("teams", _teams(environment, gpu_pools, volcano), on_cluster)
    if queues:
        QueueEntry("queue-entry", QueueEntryArgs(queues=queues, teams=teams), on_cluster)
    monitored = _monitoring(environment, gpu_pools, secrets)
    monitoring = Monitoring("monitoring", monitored, after(on_cluster, volumes))
    gpus = GpuOperator("gpu-operator", _gpu_operator(gpu_pools, monitoring), on_cluster)
    network = SystemNetworkArgs(
        namespaces={
            **spaces,
            GPU_OPERATOR_NAMESPACE: gpus.release,
            KURED_NAMESPACE: kured.release,
            MONITORING_NAMESPACE: monitoring.release,
            VOLCANO_NAMESPACE: volcano.release,
        },
        bmcs=_bmcs(settings),
    )
    SystemNetwork("system-network", network, on_cluster)
    karpenter = _karpenter(settings, at_site, machines.ready)
    if any(queue.pools for queue in queues.values()):
        buffers = GangBufferArgs(
            queues=queues,
            machines=_rentable(gpu_pools),
            crds=volcano.release,
            karpenter=[each.controller for each in karpenter.values()],
            spaces=[teams],
        )
        GangBuffer("gang-buffer", buffers, on_cluster)
    return karpenter


def _teams(
    environment: Environment, gpu_pools: Mapping[str, ResolvedPool], volcano: Volcano
) -> TeamsArgs:
    return TeamsArgs(
        teams=environment.settings.teams,
        pools={name: pool.gpus for name, pool in gpu_pools.items()},
        rented=frozenset(name for name, pool in gpu_pools.items() if pool.rented),
        crds=volcano.release,
        nccl={
            name: nccl_environment(pool.fabric, pool.hardware) for name, pool in gpu_pools.items()
        },
        mig={
            name: pool.sharing.mig_layout
            for name, pool in gpu_pools.items()
            if pool.sharing is not None and pool.sharing.mig_layout is not None
        },
        operators=(*OPERATORS, *environment.rules[0].facts.get("controllers", ())),
        kubernetes=node_versions(environment.settings.versions).kubernetes,
    )


def _bmcs(settings: Settings) -> list[str]:
    """Return where BMCs are: the ranges that sites say, and the addresses of machines."""
    declared = [pool.declared for pool in settings.pools.values()]
    sites = [site for site in settings.sites.values() if isinstance(site, OnPremSite)]
    found = {site.bmc_cidr for site in sites} | {
        machine.bmc_range
        for pool in declared
        if isinstance(pool, BareMetalPoolSettings)
        for machine in pool.machines
    }
    return sorted(each for each in found if each is not None)


def after(
    opts: pulumi.ResourceOptions, resources: Sequence[pulumi.Resource]
) -> pulumi.ResourceOptions:
    """Return the options of a component that comes after some resources, and goes before them."""
    return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=list(resources)))


def _admission(environment: Environment) -> AdmissionArgs:
    today = datetime.now(UTC).date()
    stage = environment.settings.admission
    return AdmissionArgs(manifests=manifests(environment.rules, stage=stage, today=today))


def _cilium(settings: Settings, networks: Mapping[str, HetznerNetwork]) -> CiliumArgs:
    """Return Cilium's arguments, with an ingress at Hetzner where lakeFS is served by it."""
    locations = _ingress_locations(settings, networks)
    return CiliumArgs(
        cluster=settings.cluster.name,
        pod_cidr=settings.cluster.pod_cidr,
        endpoint=settings.cluster.endpoint,
        ingress_location=locations[0] if locations else None,
    )


def _ingress_locations(settings: Settings, networks: Mapping[str, HetznerNetwork]) -> list[str]:
    """Return where Cilium's load balancer may be; nowhere if lakeFS has no certificate for it."""
    if settings.lakefs is None or settings.lakefs.tls_secret is None:
        return []
    return [network.location for network in networks.values()]


def _karpenter(
    settings: Settings, at_site: SiteOptions, machines: Sequence[pulumi.Resource]
) -> dict[str, Karpenter]:
    """Register Karpenter, by the name of its site; nothing where no pool is on AWS."""
    rented = {name: pool for name, pool in settings.pools.items() if pool.rented}
    for name, site in settings.sites.items():
        if isinstance(site, AwsSite) and name in {pool.site for pool in rented.values()}:
            args = KarpenterArgs(
                cluster=settings.cluster.name,
                endpoint=f"https://{settings.cluster.endpoint}",
                region=site.region,
                memory_overhead=memory_overhead(pool.hardware for pool in rented.values()),
                node_roles=[node_role(settings.cluster.name, pool) for pool in rented],
                system_pools=[
                    each for each, pool in settings.pools.items() if not pool.hardware.gpu_count
                ],
                capacity_buffers=any(queue.pools for queue in _queues(settings).values()),
            )
            return {name: Karpenter("karpenter", args, after(at_site[name], machines))}
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
    node = node_versions(environment.settings.versions)
    key = secrets["pagerduty_routing_key"] if chosen.pager == "pagerduty" else None
    return MonitoringArgs(
        pools=gpus,
        storage_class=chosen.storage_class or STORAGE_CLASS,
        rules=environment.rules,
        ends=ends(node.kubernetes, node.nvidia_driver if gpu_pools else None),
        pagerduty_routing_key=key,
    )


def _gpu_operator(gpu_pools: Mapping[str, ResolvedPool], monitoring: Monitoring) -> GpuOperatorArgs:
    return GpuOperatorArgs(
        pools={name: pool.sharing for name, pool in gpu_pools.items() if pool.sharing is not None},
        dcgm_exporter=exporter_values(),
        monitors=monitoring.release,
    )


def _rdma(gpu_pools: Mapping[str, ResolvedPool]) -> RdmaDevicesArgs:
    owned = {
        name: Rails(devices=pool.hardware.rails, pods=pool.fabric.per_machine)
        for name, pool in gpu_pools.items()
        if pool.fabric is not None and pool.fabric.kind != "efa"
    }
    efa = any(pool.fabric and pool.fabric.kind == "efa" for pool in gpu_pools.values())
    return RdmaDevicesArgs(rails=owned, efa=efa)


def _queues(settings: Settings) -> dict[str, Queue]:
    return {name: queue for team in settings.teams.values() for name, queue in team.queues.items()}


def _volcano(queues: Mapping[str, Queue]) -> VolcanoArgs:
    return VolcanoArgs(
        pools={name: queue.pool for name, queue in queues.items() if not queue.pools},
        spans={name: queue.pools for name, queue in queues.items() if queue.pools},
    )


def _rentable(gpu_pools: Mapping[str, ResolvedPool]) -> dict[str, dict[str, str]]:
    """Return what a pod may ask of a new machine of each rented pool.

    No huge pages: Karpenter launches no machine for a pod that asks for them.
    """
    return {
        name: {
            "cpu": str(len(parse_list(pool.plan.workload))),
            "memory": f"{pool.launchable_memory_mib}Mi",
            GPU: str(pool.hardware.gpu_count),
            **({pool.fabric.resource: str(pool.fabric.per_machine)} if pool.fabric else {}),
        }
        for name, pool in gpu_pools.items()
        if pool.launchable_memory_mib is not None
    }
