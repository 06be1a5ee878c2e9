"""fleet-gang-buffer: lets a gang span owned and rented machines, with one round of renting.

A small pod beside Volcano. In the namespaces of the queues with `pools` it keeps a CapacityBuffer
for each gang that waits, for as long as it waits. The gang's own pods Karpenter does not see: their
node affinity, which Volcano's webhook gives them, says so in its first term (`affinity`). While the
program is away no machine is made for such a gang, and none is kept for it. Why so:
docs/decisions/0005.

One more CapacityBuffer, of no pods, is always there. Karpenter 1.14.1 removes no machine on which
its last round of provisioning placed pods of a buffer (pkg/controllers/disruption/emptiness.go,
`HasBufferPods`). A deleted buffer starts no round, so in a quiet cluster its machines would stay
for ever. One that exists starts a round every 30 s, also with no replicas
(pkg/controllers/capacitybuffer/controller.go). It needs no program that runs and no gang that is
left, and goes with the last queue that has `pools`, when Karpenter starts anew without this gate.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.apps.v1 import Deployment
from pulumi_kubernetes.core.v1 import ContainerArgsDict, ServiceAccount
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs
from pulumi_kubernetes.rbac.v1 import PolicyRuleArgsDict

from components.platform import controller_pod
from components.platform.controller_pod import FOLDER, Program
from components.platform.rights import grant
from settings.karpenter import DAEMONS_MIB
from settings.names import GANG_BUFFER, VOLCANO_NAMESPACE
from settings.types import Queue
from settings.versions import PYTHON_IMAGE
from workloads.controllers.gang_buffer.buffer import BUFFER
from workloads.controllers.gang_buffer.program import FILE, SETTINGS, program

NAME = GANG_BUFFER
_MAKE = ["list", "create", "patch", "delete"]


@dataclass(frozen=True, kw_only=True)
class GangBufferArgs:
    """`queues` are all by name; those with `pools` are served. `crds` brings Volcano's kinds."""

    queues: Mapping[str, Queue]
    machines: Mapping[str, Mapping[str, str]]
    """What a pod may ask of a new machine of each rented pool, by resource."""
    crds: pulumi.Resource
    karpenter: Iterable[pulumi.Resource] = ()
    """What brings the kind CapacityBuffer."""
    spaces: Iterable[pulumi.Resource] = ()
    """What makes the namespaces of the queues."""


class GangBuffer(pulumi.ComponentResource):
    """The program, its account, and its rights in the namespaces of the queues."""

    def __init__(
        self, name: str, args: GangBufferArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:GangBuffer", name, None, opts)
        child = pulumi.ResourceOptions(parent=self, depends_on=[args.crds, *args.spaces])
        here = ObjectMetaArgs(name=NAME, namespace=VOLCANO_NAMESPACE)
        buffers = Program(
            name=NAME, file=FILE, content=program(), texts={SETTINGS: _settings(args)}
        )
        code = controller_pod.config_map(name, buffers, VOLCANO_NAMESPACE, child)
        account = ServiceAccount(f"{name}-account", metadata=here, opts=child)
        grant(f"{name}-machines", ObjectMetaArgs(name=NAME), everywhere(), account, child)
        for queue, bounds in args.queues.items():
            of_queue = ObjectMetaArgs(name=NAME, namespace=queue)
            rights = in_queue() if bounds.pools else [_pods()]
            grant(f"{name}-{queue}", of_queue, rights, account, child)
        container: ContainerArgsDict = {
            "name": "gang-buffer",
            "image": PYTHON_IMAGE,
            "command": [*buffers.command, f"{FOLDER}/{SETTINGS}"],
            "resources": {
                "requests": {"cpu": "20m", "memory": "128Mi"},
                "limits": {"memory": "512Mi"},
            },
        }
        Deployment(
            f"{name}-pod",
            metadata=here,
            spec={
                "replicas": 1,
                "strategy": {"type": "Recreate"},  # two would write at the same time
                "selector": {"match_labels": buffers.labels},
                "template": {
                    "metadata": {"labels": buffers.labels},
                    "spec": controller_pod.restricted_pod(buffers, code, container),
                },
            },
            opts=child,
        )
        _rounds(f"{name}-rounds", args.karpenter, child)
        self.register_outputs({})


def _rounds(name: str, karpenter: Iterable[pulumi.Resource], child: pulumi.ResourceOptions) -> None:
    """Register the buffer of no pods by which Karpenter looks again every 30 s."""
    CustomResource(
        name,
        api_version=BUFFER,
        kind="CapacityBuffer",
        metadata=ObjectMetaArgs(name=NAME, namespace=VOLCANO_NAMESPACE),
        # of the shape of the program's own pod, none of which it asks for
        spec={
            "replicas": 0,
            "scalableRef": {"apiGroup": "apps", "kind": "Deployment", "name": NAME},
        },
        opts=pulumi.ResourceOptions.merge(
            child, pulumi.ResourceOptions(depends_on=list(karpenter))
        ),
    )


def _settings(args: GangBufferArgs) -> str:
    """Return what the program is told: its queues, all namespaces with GPUs, and the machines.

    `daemons` is what pods of DaemonSets may ask of a machine beside those.
    """
    served = {
        name: {
            "pools": list(queue.pools),
            "give_back_after_minutes": queue.give_back_after_minutes,
        }
        for name, queue in sorted(args.queues.items())
        if queue.pools
    }
    told = {
        "queues": served,
        "spaces": sorted(args.queues),
        "machines": dict(args.machines),
        "daemons": {"memory": f"{DAEMONS_MIB}Mi"},
    }
    return json.dumps(told, indent=1, sort_keys=True)


def everywhere() -> list[PolicyRuleArgsDict]:
    """Return the rights in the cluster: to see machines, those on their way, and the limits."""
    return [
        {"api_groups": [""], "resources": ["nodes"], "verbs": ["list"]},
        {
            "api_groups": ["karpenter.sh"],
            "resources": ["nodeclaims", "nodepools"],
            "verbs": ["list"],
        },
    ]


def in_queue() -> list[PolicyRuleArgsDict]:
    """Return the rights in the namespace of a queue that it serves."""
    return [
        _pods(),
        {"api_groups": [""], "resources": ["podtemplates"], "verbs": _MAKE},
        {"api_groups": [""], "resources": ["events"], "verbs": ["create"]},
        {
            "api_groups": ["autoscaling.x-k8s.io"],
            "resources": ["capacitybuffers"],
            "verbs": _MAKE,
        },
        {
            "api_groups": ["scheduling.volcano.sh"],
            "resources": ["podgroups"],
            "verbs": ["list", "patch"],
        },
    ]


def _pods() -> PolicyRuleArgsDict:
    return {"api_groups": [""], "resources": ["pods"], "verbs": ["list"]}
