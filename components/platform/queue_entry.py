"""fleet-queue-entry: a gang that has its pods is let into its queue, although they fill the quota.

A small pod beside Volcano, which counts the pods of such a gang twice and keeps it out for ever
(`workloads.controllers.queue_entry.entry` says when). In the namespaces of the queues it reads pods
and the quota, and writes that a PodGroup is let in. While it is away such gangs wait; all others
start. Why so: docs/decisions/0005.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apps.v1 import Deployment
from pulumi_kubernetes.core.v1 import ContainerArgsDict, ServiceAccount
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs
from pulumi_kubernetes.rbac.v1 import PolicyRuleArgsDict

from components.platform import controller_pod
from components.platform.controller_pod import Program
from components.platform.rights import grant
from settings.names import VOLCANO_NAMESPACE
from settings.versions import PYTHON_IMAGE
from workloads.controllers.queue_entry.entry import MANAGER, QUOTA
from workloads.controllers.queue_entry.program import FILE, program

NAME = MANAGER


@dataclass(frozen=True, kw_only=True)
class QueueEntryArgs:
    """The queues by name. `teams` makes their namespaces, and comes after Volcano's own."""

    queues: Iterable[str]
    teams: pulumi.Resource


class QueueEntry(pulumi.ComponentResource):
    """The program, its account, and its rights in the namespaces of the queues."""

    def __init__(
        self, name: str, args: QueueEntryArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:QueueEntry", name, None, opts)
        queues = sorted(args.queues)
        child = pulumi.ResourceOptions(parent=self, depends_on=[args.teams])
        here = ObjectMetaArgs(name=NAME, namespace=VOLCANO_NAMESPACE)
        entry = Program(name=NAME, file=FILE, content=program())
        code = controller_pod.config_map(name, entry, VOLCANO_NAMESPACE, child)
        account = ServiceAccount(f"{name}-account", metadata=here, opts=child)
        for queue in queues:
            of_queue = ObjectMetaArgs(name=NAME, namespace=queue)
            grant(f"{name}-{queue}", of_queue, in_queue(), account, child)
        container: ContainerArgsDict = {
            "name": "queue-entry",
            "image": PYTHON_IMAGE,
            "command": [*entry.command, *queues],
            "resources": {
                "requests": {"cpu": "10m", "memory": "64Mi"},
                "limits": {"memory": "512Mi"},
            },
        }
        Deployment(
            f"{name}-pod",
            metadata=here,
            spec={
                "replicas": 1,
                "selector": {"match_labels": entry.labels},
                "template": {
                    "metadata": {"labels": entry.labels},
                    "spec": controller_pod.restricted_pod(entry, code, container),
                },
            },
            opts=child,
        )
        self.register_outputs({})


def in_queue() -> list[PolicyRuleArgsDict]:
    """Return the rights in the namespace of a queue."""
    return [
        {"api_groups": [""], "resources": ["pods"], "verbs": ["list"]},
        {
            "api_groups": [""],
            "resources": ["resourcequotas"],
            "resource_names": [QUOTA],
            "verbs": ["get"],
        },
        {
            "api_groups": ["scheduling.volcano.sh"],
            "resources": ["podgroups"],
            "verbs": ["list", "patch"],
        },
    ]
