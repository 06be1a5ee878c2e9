"""Volcano, the scheduler of the fleet's gangs, as its pinned chart.

How its scheduler is configured, action by action (sources: Volcano 1.14.1, pkg/scheduler):

- `enqueue` holds a job back, without pods, until the quota of its namespace, if it has one, has
  room for it. It must ask nothing else: measured by idle or existing machines (overcommit,
  capacity) a burst would never have pods, Karpenter never see them, and no machine come.
- `allocate` starts a gang where it fits whole, while its queue is within its `capability`, in the
  order of what the queues hold of what they deserve. The plugin proportion in the place of capacity
  would let no queue beyond a share of all machines by weight and demand, and so leave owned ones
  idle for a gang that waits for rented ones.
- `preempt` evicts pods of jobs of a lower priority class for a job of a higher class in the same
  queue; not for a job with network topology.
- `reclaim` evicts pods of a reclaimable queue that holds more GPUs than it deserves (`deserved`,
  its weight's part of its pool), for a job of a queue that holds less.
- `backfill` starts pods that ask for nothing.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import yaml
from pulumi_kubernetes.helm.v3 import Release, RepositoryOptsArgs

from settings.names import POOL_LABEL, PREFIX, VOLCANO_NAMESPACE
from settings.versions import VOLCANO, VOLCANO_IMAGE_TAG

NODE_POOL_LABEL = "karpenter.sh/nodepool"

# In one tier, because the first that finds a victim decides: below another, weights were not asked.
# Gangs are no protection: whoever takes a part of one ends it, and its job's policy starts it anew.
SCHEDULER = {
    "actions": "enqueue, allocate, preempt, reclaim, backfill",
    "tiers": [
        {
            "plugins": [
                {"name": "priority"},
                {"name": "gang", "enablePreemptable": False, "enableReclaimable": False},
                {"name": "conformance"},
                {"name": "capacity", "enableJobEnqueued": False},
                {"name": "resourcequota"},
            ]
        },
        {
            "plugins": [
                {"name": "drf", "enablePreemptable": False},
                {"name": "predicates"},
                {"name": "network-topology-aware"},
                {"name": "nodeorder"},
                {"name": "binpack"},
            ]
        },
    ],
}
# no limit of memory: a scheduler that is killed for a burst of pods starts into the same burst
REQUESTS = {"cpu": "250m", "memory": "512Mi"}
# Requests a second of the controllers, and at once. For the pod of a plain Job they read the Job
# and write to the pod by one client (v1.14.1, pkg/controllers/podgroup/pg_controller_handler.go):
# the chart's 50 are 25 pods a second. Volcano's own benchmark sets 3000 (benchmark/sh/pre.sh).
CONTROLLER_REQUESTS = {"controller_kube_api_qps": 500, "controller_kube_api_burst": 1000}
# the chart's own list, and the two that give pods their queue's pool and PodGroups their queue
ADMISSIONS = (
    "/jobs/mutate,/jobs/validate,/podgroups/mutate,/podgroups/validate,/pods/mutate,"
    "/queues/mutate,/queues/validate,/hypernodes/validate,/cronjobs/validate"
)


@dataclass(frozen=True, kw_only=True)
class VolcanoArgs:
    """The pool of each queue by the queue's namespace; None for one that may use any pool.

    `spans` are the pools of each queue whose gangs may span several.
    """

    pools: Mapping[str, str | None]
    spans: Mapping[str, Sequence[str]] = field(default_factory=dict)


class Volcano(pulumi.ComponentResource):
    """The chart with a scheduler configuration that lets gangs burst. It brings Volcano's CRDs.

    Its webhook adds the node selector of the queue's pool to each pod: Karpenter must know it too,
    or it takes idle machines of another pool for room. It also gives each pod of a queue Volcano as
    its scheduler, whatever the pod says: another one knows no queues.
    """

    release: Release

    def __init__(
        self, name: str, args: VolcanoArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:Volcano", name, None, opts)
        self.release = Release(
            f"{name}-release",
            name="volcano",
            namespace=VOLCANO_NAMESPACE,
            create_namespace=True,
            chart=VOLCANO.name,
            version=VOLCANO.version,
            repository_opts=RepositoryOptsArgs(repo=VOLCANO.repository),
            values={
                "basic": {"image_tag_version": VOLCANO_IMAGE_TAG},
                "custom": {
                    "scheduler_config_override": _yaml(SCHEDULER),
                    "enabled_admissions": ADMISSIONS,
                    "leader_elect_enable": True,
                    **CONTROLLER_REQUESTS,
                    **_replicas(),
                    "admission_config_override": _yaml(
                        {"resourceGroups": [*_groups(args.pools), *_spanning(args.spans)]}
                    ),
                    # else no pod of the cluster would start while the webhook is down
                    "webhooks_namespace_selector_expressions": [
                        {"key": f"{PREFIX}/team", "operator": "Exists"}
                    ],
                },
            },
            # a hook Job makes the webhook's certificate before the first pod of Volcano starts
            timeout=900,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({"version": VOLCANO.version})


def _replicas() -> dict[str, object]:
    """Returns two replicas of each program, on two nodes where there are two, with requests.

    While the webhook is away no pod of a queue starts, and while the scheduler is, no gang. The
    chart's default is one replica that asks for nothing, so that it is the first to be evicted.
    """
    found: dict[str, object] = {}
    for key in ("scheduler", "controller", "admission"):
        apart = {
            "labelSelector": {"matchLabels": {"app": f"volcano-{key}"}},
            "topologyKey": "kubernetes.io/hostname",
        }
        preferred = [{"weight": 100, "podAffinityTerm": apart}]
        found[f"{key}_replicas"] = 2
        found[f"{key}_resources"] = {"requests": REQUESTS}
        found[f"{key}_affinity"] = {
            "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
        }
    return found


def _groups(pools: Mapping[str, str | None]) -> list[dict[str, object]]:
    """Returns Volcano's resource groups; it adds their `labels` to the pods' node selector."""
    return [
        {
            "resourceGroup": pool or "any",
            "object": {
                "key": "namespace",
                "value": sorted(queue for queue, other in pools.items() if other == pool),
            },
            "schedulerName": "volcano",
            **({} if pool is None else {"labels": {POOL_LABEL: pool}}),
        }
        for pool in sorted(set(pools.values()), key=lambda each: each or "")
    ]


def _spanning(spans: Mapping[str, Sequence[str]]) -> list[dict[str, object]]:
    """Returns the resource groups of queues with several pools, which get an affinity instead."""
    return [
        {
            "resourceGroup": f"span-{queue}",
            "object": {"key": "namespace", "value": [queue]},
            "schedulerName": "volcano",
            "affinity": json.dumps(affinity(pools)),
        }
        for queue, pools in sorted(spans.items())
    ]


def affinity(pools: Sequence[str]) -> dict[str, object]:
    """Returns the node affinity to some pools that keeps Karpenter's eyes off a pod.

    A scheduler takes a node that one of the terms selects. Karpenter 1.14.1 ignores a waiting pod
    whose first term excludes its machines (`validateKarpenterManagedLabelCanExist`):
    fleet-gang-buffer asks in its place. Pods on a node that it drains it does not ignore, and drops
    a first term that nothing meets (`removeRequiredNodeAffinityTerm`): for those it makes machines
    itself, before they wait.
    """
    pool = {"key": POOL_LABEL, "operator": "In", "values": list(pools)}
    unseen = {"key": NODE_POOL_LABEL, "operator": "DoesNotExist"}
    terms = [{"matchExpressions": [unseen, pool]}, {"matchExpressions": [pool]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"nodeAffinity": required}


def _yaml(document: object) -> str:
    return yaml.safe_dump(document, sort_keys=False)
