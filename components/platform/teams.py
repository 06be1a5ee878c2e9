"""The teams that share the fleet's GPUs: their queues, each with a namespace for its jobs.

A queue is a namespace of the same name: so its pods get its pool without saying so, and its bound
can hold before a pod exists. The namespace has a quota, which also holds what no rule can see, such
as a Deployment that somebody scales; Volcano's plugin resourcequota keeps a job that goes beyond it
without pods.

Where machines are rented the quota is as large as the queue, because Karpenter makes one for every
pod that waits, also for those that Volcano will not start since their queue is full. On owned
machines it has the queue's GPUs once for each priority class of the queue: a job of a higher class
preempts only with pods of its own, while those that it is to replace still run.

Pods of a queue reach one another and are reached by nobody else of the cluster. The people of the
team's groups work in it, see `components.platform.team_access`.

Where the queue's pool has a network between GPUs, the ConfigMap `fleet-nccl` in the namespace has
what NCCL must be told of it. A job takes it by `envFrom: [{configMapRef: {name: fleet-nccl}}]`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.core.v1 import (
    ConfigMap,
    Namespace,
    ResourceQuota,
    ResourceQuotaSpecArgs,
)
from pulumi_kubernetes.meta.v1 import LabelSelectorArgs, ObjectMetaArgs
from pulumi_kubernetes.networking.v1 import (
    NetworkPolicy,
    NetworkPolicyIngressRuleArgs,
    NetworkPolicyPeerArgs,
    NetworkPolicySpecArgs,
)

from components.platform import gang_requests
from components.platform.queue_rules import queue_rules
from components.platform.queue_shares import deserved
from components.platform.team_access import team_access, team_role
from settings.names import GPU, NCCL_CONFIG, POD_SECURITY, owner_labels
from settings.types import Queue, Team
from settings.versions import KUBERNETES
from workloads.controllers.queue_entry.entry import QUOTA


@dataclass(frozen=True, kw_only=True)
class TeamsArgs:
    """The teams by name. `crds` brings Volcano's kinds."""

    teams: Mapping[str, Team]
    pools: Mapping[str, int]
    """The most GPUs of each pool that has any."""
    rented: frozenset[str]
    """The pools whose machines Karpenter rents."""
    crds: pulumi.Resource
    nccl: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The variables by which NCCL finds the network between GPUs, by pool."""
    mig: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """The instances of each GPU by profile, by pool; a pool without MIG is absent."""
    operators: Collection[str] = ()
    """The user names of controllers that make PodGroups and know no topology."""
    kubernetes: str = KUBERNETES
    """The release of the nodes; the API server has it or a later one."""


class Teams(pulumi.ComponentResource):
    """A Volcano Queue and a namespace for each queue of a team, and the rules for its jobs."""

    def __init__(
        self, name: str, args: TeamsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:Teams", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        # the API server knows this kind only once Volcano's chart is installed
        after_crds = pulumi.ResourceOptions(parent=self, depends_on=[args.crds])
        queues = _queues(args.teams)
        shares = deserved(queues, args.pools, args.rented)
        people = any(owner.groups for owner in args.teams.values())
        role = team_role(name, child) if people else None
        for team, owner in args.teams.items():
            labelled = owner_labels(team, owner.cost_centre)
            for queue, bounds in owner.queues.items():
                prefix = f"{name}-{team}-{queue}"
                space = Namespace(
                    f"{prefix}-namespace",
                    metadata=_namespace(queue, labelled),
                    # with it go the jobs that run in it, their claims and their data
                    opts=pulumi.ResourceOptions(parent=self, protect=True),
                )
                NetworkPolicy(
                    f"{prefix}-network",
                    metadata=ObjectMetaArgs(name="own", namespace=space.metadata["name"]),
                    spec=_own_pods_alone(),
                    opts=child,
                )
                if role is not None and owner.groups:
                    team_access(prefix, space.metadata["name"], owner.groups, role, child)
                if variables := args.nccl.get(bounds.pool or ""):
                    ConfigMap(
                        f"{prefix}-nccl",
                        metadata=ObjectMetaArgs(name=NCCL_CONFIG, namespace=space.metadata["name"]),
                        data=variables,
                        opts=child,
                    )
                ResourceQuota(
                    f"{prefix}-quota",
                    metadata=ObjectMetaArgs(name=QUOTA, namespace=space.metadata["name"]),
                    spec=ResourceQuotaSpecArgs(hard=_most(bounds, args)),
                    opts=child,
                )
                CustomResource(
                    prefix,
                    api_version="scheduling.volcano.sh/v1beta1",
                    kind="Queue",
                    metadata=ObjectMetaArgs(name=queue, labels=labelled),
                    spec=_bounds(bounds, shares[queue], args.rented),
                    opts=after_crds,
                )
        queue_rules(name, queues, args.rented, args.operators, child)
        if gang_requests.is_known_to(args.kubernetes):
            gang_requests.gang_requests(name, child)
        self.register_outputs({})


def _bounds(queue: Queue, share: int, rented: frozenset[str]) -> dict[str, object]:
    return {
        "weight": queue.weight,
        "capability": {GPU: str(queue.gpus)},
        "deserved": {GPU: str(share)},
        # what is rented can be rented again: nobody ends a job to take it
        "reclaimable": not (set(queue.pools or (queue.pool,)) <= rented),
    }


def _most(queue: Queue, args: TeamsArgs) -> dict[str, str]:
    """Return the quota of a queue's namespace: whole GPUs, and the parts that its pools have."""
    may_rent = bool(args.rented) and (queue.pool is None or queue.pool in args.rented)
    most = queue.gpus if may_rent else queue.gpus * max(1, len(queue.priorities))
    parts: dict[str, int] = {}
    for pool, layout in args.mig.items():
        if pool in queue.pools or (not queue.pools and queue.pool in (None, pool)):
            for profile, each in layout.items():
                parts[profile] = max(each, parts.get(profile, 0))
    return {
        f"requests.{GPU}": str(most),
        **{
            # the device plugin writes a profile with media engines as `1g.18gb.me`
            f"requests.nvidia.com/mig-{profile.replace('+', '.')}": str(most * each)
            for profile, each in sorted(parts.items())
        },
    }


def _own_pods_alone() -> NetworkPolicySpecArgs:
    everyone = LabelSelectorArgs()  # of the namespace
    peers = [NetworkPolicyPeerArgs(pod_selector=everyone)]
    return NetworkPolicySpecArgs(
        pod_selector=everyone,
        policy_types=["Ingress"],
        ingress=[NetworkPolicyIngressRuleArgs(from_=peers)],
    )


def _queues(teams: Mapping[str, Team]) -> dict[str, Queue]:
    return {name: queue for team in teams.values() for name, queue in team.queues.items()}


def _namespace(queue: str, labelled: Mapping[str, str]) -> ObjectMetaArgs:
    """Volcano's webhook gives this queue to a PodGroup of the namespace that names none.

    The API server itself refuses pods with access to their node, whatever the rules' stage is.
    """
    secured = {**labelled, POD_SECURITY: "baseline"}
    return ObjectMetaArgs(
        name=queue, labels=secured, annotations={"scheduling.volcano.sh/queue-name": queue}
    )
