"""Karpenter as its two pinned charts: the CRDs, and the controller."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.helm.v3 import Release

from components.platform import aws_user
from components.platform.karpenter.access import KarpenterAccess, KarpenterAccessArgs
from components.platform.karpenter.interruptions import Interruptions, InterruptionsArgs
from settings.names import KUBE_SYSTEM, POOL_LABEL
from settings.versions import KARPENTER, KARPENTER_CRD


@dataclass(frozen=True, kw_only=True)
class KarpenterArgs:
    """The cluster by name and https:// endpoint, and the one region in which Karpenter works."""

    cluster: str
    endpoint: str
    region: str
    # the share of its machines' memory that no guest sees
    memory_overhead: float
    # of the pools that it makes machines for
    node_roles: Sequence[str]
    # where the controller itself runs
    system_pools: Sequence[str]
    # whether it makes machines for CapacityBuffers, an alpha feature
    capacity_buffers: bool = False


class Karpenter(pulumi.ComponentResource):
    """The chart karpenter-crd, its controller, and on AWS its user and its queue of warnings.

    The kinds are a chart of their own because the controller's chart installs but never upgrades
    them, so it is told to leave them alone.
    """

    controller: Release
    """It must outlive every NodePool and EC2NodeClass: it alone ends their machines."""

    def __init__(
        self, name: str, args: KarpenterArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:Karpenter", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        crds = Release(
            f"{name}-crd",
            name="karpenter-crd",
            namespace=KUBE_SYSTEM,
            chart=KARPENTER_CRD.name,
            version=KARPENTER_CRD.version,
            opts=child,
        )
        interruptions = Interruptions(
            f"{name}-warnings", InterruptionsArgs(cluster=args.cluster), child
        )
        access = KarpenterAccess(
            f"{name}-access",
            KarpenterAccessArgs(
                cluster=args.cluster,
                region=args.region,
                queue=interruptions.queue_name,
                roles=args.node_roles,
                namespace=KUBE_SYSTEM,
            ),
            child,
        )
        self.controller = Release(
            f"{name}-controller",
            name="karpenter",
            namespace=KUBE_SYSTEM,
            chart=KARPENTER.name,
            version=KARPENTER.version,
            skip_crds=True,
            values=_values(args, interruptions.queue_name, access),
            timeout=600,
            # it does not start without the kinds, a queue that answers and the right to read it
            opts=pulumi.ResourceOptions(parent=self, depends_on=[crds, interruptions, access]),
        )
        self.register_outputs({"version": KARPENTER.version})


def _values(args: KarpenterArgs, queue: str, access: KarpenterAccess) -> dict[str, object]:
    """The chart's values.

    No clusterCABundle: it is for user data that Karpenter writes itself, which it does not for
    Custom images, and it takes the one of its own connection.
    """
    return {
        "settings": {
            "clusterName": args.cluster,
            "clusterEndpoint": args.endpoint,
            "interruptionQueue": queue,
            "eksControlPlane": False,
            # a share of 1; the chart's own 0.075 would hide 100 GiB of each p5e from pods
            "vmMemoryOverheadPercent": args.memory_overhead,
            **({"featureGates": {"capacityBuffer": True}} if args.capacity_buffers else {}),
        },
        "controller": {
            "env": [{"name": "AWS_REGION", "value": args.region}],
            "envFrom": [{"secretRef": {"name": access.secret_name}}],
            "resources": {
                "requests": {"cpu": "500m", "memory": "1Gi"},
                "limits": {"memory": "1Gi"},
            },
        },
        "podAnnotations": aws_user.pod_annotations(access.key_id),
        "affinity": _affinity(args.system_pools),
        # the chart wants zones, which owned machines have not; two pods never share a node anyway
        "topologySpreadConstraints": [],
    }


def _affinity(pools: Sequence[str]) -> dict[str, object]:
    """Returns the affinity to the pools without GPUs; with none of those, to owned nodes.

    GPU nodes are tainted besides, so a controller without that toleration stays off them.
    """
    expressions: list[dict[str, object]] = [
        {"key": "karpenter.sh/nodepool", "operator": "DoesNotExist"}
    ]
    if pools:
        expressions.append({"key": POOL_LABEL, "operator": "In", "values": list(pools)})
    terms = [{"matchExpressions": expressions}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"nodeAffinity": required}
