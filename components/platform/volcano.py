"""Volcano, the scheduler of the fleet's gangs, as its pinned chart.

What this version does with a gang: one that fits the idle machines starts on them, and one for
which no machine has room is seen by Karpenter whole, which makes its nodes in one round. In between
lies a case that it does not solve: of a gang that fits in part, Volcano marks the pods that would
fit `Schedulable` and the rest `Unschedulable`; Karpenter looks at the rest alone, finds that they
fit the same idle machines and makes no node, so the gang waits until enough of them are idle, or
none. A job that must not wait names the pool that it wants (`fleet.gpu/pool`), where owned machines
do not count. Karpenter's CapacityBuffer of the gang's shape cures it, but a controller must make
one for each waiting PodGroup, and there is none yet.
"""

import pulumi
import yaml
from pulumi_kubernetes.helm.v3 import Release, RepositoryOptsArgs

from components.versions import VOLCANO, VOLCANO_IMAGE_TAG

NAMESPACE = "volcano-system"

# Without `enqueue`: it keeps a gang that is larger than the idle capacity from having pods at all,
# so Karpenter would never see them and no queue could burst. Its plugin overcommit goes with it.
SCHEDULER = {
    "actions": "allocate, backfill",
    "tiers": [
        {
            "plugins": [
                {"name": "priority"},
                {"name": "gang", "enablePreemptable": False},
                {"name": "conformance"},
            ]
        },
        {
            "plugins": [
                {"name": "drf", "enablePreemptable": False},
                {"name": "predicates"},
                {"name": "proportion"},
                {"name": "nodeorder"},
                {"name": "binpack"},
            ]
        },
    ],
}


class Volcano(pulumi.ComponentResource):
    """The chart with a scheduler configuration that lets gangs burst; it brings Volcano's CRDs."""

    release: Release

    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpu:platform:Volcano", name, None, opts)
        self.release = Release(
            f"{name}-release",
            name="volcano",
            namespace=NAMESPACE,
            create_namespace=True,
            chart=VOLCANO.name,
            version=VOLCANO.version,
            repository_opts=RepositoryOptsArgs(repo=VOLCANO.repository),
            values={
                "basic": {"image_tag_version": VOLCANO_IMAGE_TAG},
                "custom": {"scheduler_config_override": yaml.safe_dump(SCHEDULER, sort_keys=False)},
            },
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({"version": VOLCANO.version})
