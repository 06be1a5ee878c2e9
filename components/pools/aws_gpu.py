"""A pool of Flatcar GPU instances on AWS that Karpenter launches and terminates."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from components.pools.aws_boot import AwsBootData
from components.pools.aws_fabric import (
    AwsFabric,
    AwsFabricArgs,
    interfaces,
    placement_group,
    security_group,
)
from components.pools.aws_image import ami_name, published_image
from components.pools.boot import PoolBoot
from hardware.catalogue import Hardware
from kube.resources.rented_machines import RentedMachines, RentedMachinesArgs
from settings.fabric import RDMA_GB_PER_S, TCP_GB_PER_S
from settings.forms import CapacityType
from settings.karpenter import reservations
from settings.names import (
    CAPACITY_LABEL,
    GPU,
    INSTANCE_TYPE_LABEL,
    POOL_LABEL,
    RESERVED_UNTIL,
    ZONE_LABEL,
    tags,
)
from settings.node_boot import GPU_TAINT
from settings.pools import AwsPoolSettings
from settings.versions import FLATCAR_AMI_OWNER

ROOT_VOLUME = "/dev/xvda"
ROOT_IOPS, ROOT_MIB_PER_S = 4000, 1000
# Karpenter tries the highest weight first: capacity that is paid for, then the cheapest
WEIGHTS: Mapping[CapacityType, int] = {"reserved": 100, "spot": 50, "on-demand": 10}
# A training job is never moved, neither to save a node nor to update one: Karpenter removes empty
# nodes, all at once, and nodes for the next job have the new boot data.
_AFTER_THE_JOB = [{"nodes": "100%", "reasons": ["Empty"]}, {"nodes": "0", "reasons": ["Drifted"]}]
# Cilium's operator taints a node until its agent is up. Without this entry Karpenter assumes that
# its pods cannot use the new machine and launches a second (its FAQ, "Why do I see extra nodes get
# launched")
STARTUP_TAINT = {"key": "node.cilium.io/agent-not-ready", "effect": "NoSchedule"}


@dataclass(frozen=True, kw_only=True)
class AwsGpuPoolArgs:
    """`pool` is the pool as the stack file declares it; `karpenter` the Release of the controller.

    `vpc` is that of the site's subnets; None without EFA.
    """

    boot: PoolBoot
    pool: AwsPoolSettings
    karpenter: pulumi.Resource
    vpc: str | None = None
    root_volume_gib: int = 200
    termination_grace_hours: int = 24  # the longest time that a node drains


class AwsGpuPool(pulumi.ComponentResource):
    """An EC2NodeClass with Flatcar's user data, and a NodePool with a limit for each capacity type.

    The site's subnets and security groups need the tag `karpenter.sh/discovery: <cluster>`, its
    capacity reservations `fleet.gpu/pool: <pool>`. Preview fails where Flatcar's image is gone.
    """

    image_id: str

    def __init__(
        self, name: str, args: AwsGpuPoolArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:pools:AwsGpuPool", name, args.boot.inputs, opts)
        boot = args.boot
        for text in _warnings(args):
            pulumi.log.warn(text, self)
        child = pulumi.ResourceOptions(parent=self)
        # the kinds come with it, and it alone removes the finalizers of what is deleted: Karpenter
        # must be there before these objects and after them
        with_karpenter = pulumi.ResourceOptions.merge(
            child, pulumi.ResourceOptions(depends_on=[args.karpenter])
        )
        if args.vpc is not None and boot.pool.fabric is not None:
            fabric = AwsFabric(f"{name}-fabric", _fabric_args(args, args.vpc), child)
            with_karpenter = pulumi.ResourceOptions(
                parent=self, depends_on=[args.karpenter, fabric]
            )
        self.image_id = published_image(boot, args.boot.flatcar, pulumi.InvokeOptions(parent=self))
        boot_data = AwsBootData(f"{name}-boot", boot, child)
        metadata = ObjectMetaArgs(name=boot.pool.name, labels=boot.pool.labels)
        node_class = CustomResource(
            f"{name}-class",
            api_version="karpenter.k8s.aws/v1",
            kind="EC2NodeClass",
            metadata=metadata,
            spec=_class_spec(args, boot_data),
            opts=with_karpenter,
        )
        # a NodePool that outlives its class could launch nothing and end nothing
        with_class = pulumi.ResourceOptions(parent=self, depends_on=[args.karpenter, node_class])
        node_pools = [
            CustomResource(
                f"{name}-{capacity}",
                api_version="karpenter.sh/v1",
                kind="NodePool",
                metadata=_pool_metadata(args, capacity),
                spec=_pool_spec(args, capacity),
                opts=with_class,
            )
            for capacity in args.pool.gpu_limits
        ]
        RentedMachines(
            f"{name}-machines",
            RentedMachinesArgs(
                node_pools=[f"{boot.pool.name}-{capacity}" for capacity in args.pool.gpu_limits],
                timeout_s=(args.termination_grace_hours + 1) * 3600,
            ),
            pulumi.ResourceOptions(parent=self, depends_on=node_pools),
        )
        self.register_outputs({"imageId": self.image_id})


def _warnings(args: AwsGpuPoolArgs) -> Iterator[str]:
    """Yield what makes gangs slow; the engine says of which pool."""
    pool = args.boot.pool
    if pool.hardware.efa_interfaces and pool.fabric is None:
        yield (
            f"{pool.hardware.name} has {pool.hardware.efa_interfaces} EFA interfaces and the "
            "environment no driver for them, so traffic between nodes goes over TCP: "
            f"{TCP_GB_PER_S} GB/s of an all-reduce in place of {RDMA_GB_PER_S} were measured on "
            "H100; gpu-fleet:versions.efa names a system extension with it, Flatcar has none."
        )
    if args.pool.zone is None and pool.plan.purpose == "training":
        yield (
            "without a zone Karpenter spreads the machines of a gang over all zones of the "
            f"subnets, whose traffic is slower and billed; set gpu-fleet:pools.{pool.title}.zone."
        )


def _fabric_args(args: AwsGpuPoolArgs, vpc: str) -> AwsFabricArgs:
    boot = args.boot
    return AwsFabricArgs(
        cluster=boot.cluster.name,
        pool=boot.pool.name,
        vpc=vpc,
        labels=boot.pool.labels,
        placed=args.pool.reserved_until is None,
    )


def _class_spec(args: AwsGpuPoolArgs, boot_data: AwsBootData) -> dict[str, object]:
    boot = args.boot
    discovery = [{"tags": {"karpenter.sh/discovery": boot.cluster.name}}]
    spec: dict[str, object] = {
        "amiFamily": "Custom",
        "amiSelectorTerms": [{"name": ami_name(args.boot.flatcar), "owner": FLATCAR_AMI_OWNER}],
        "subnetSelectorTerms": discovery,
        "securityGroupSelectorTerms": discovery,
        "associatePublicIPAddress": False,  # with several network cards a launch with one fails
        "instanceProfile": boot_data.instance_profile,
        "metadataOptions": {
            "httpEndpoint": "enabled",
            "httpProtocolIPv6": "disabled",
            "httpPutResponseHopLimit": 1,  # pods must not reach the node's role
            "httpTokens": "required",
        },
        "blockDeviceMappings": [_root_volume(args.root_volume_gib)],
        "kubelet": reservations(boot.pool.plan),
        "tags": tags(boot.cluster.name, boot.pool.labels),
        "userData": boot_data.user_data,
    }
    # no instanceStorePolicy: it does nothing on Custom images, and Karpenter would count the drives
    # under /scratch as ephemeral storage
    if "reserved" in args.pool.gpu_limits:
        spec["capacityReservationSelectorTerms"] = [{"tags": {POOL_LABEL: boot.pool.name}}]
    if boot.pool.fabric is not None:
        spec |= _efa_spec(args, discovery)
    return spec


def _efa_spec(
    args: AwsGpuPoolArgs, discovery: list[dict[str, dict[str, str]]]
) -> dict[str, object]:
    """The fields of a class whose machines speak EFA, whether or not their first pod asks for it.

    Without networkInterfaces Karpenter attaches them only for pods that ask, and a node launched
    for another pod would never have them.
    """
    boot = args.boot
    cluster, pool = boot.cluster.name, boot.pool.name
    placed = {"placementGroupSelector": {"name": placement_group(cluster, pool)}}
    return {
        "networkInterfaces": interfaces(boot.pool.hardware.efa_interfaces),
        "securityGroupSelectorTerms": [*discovery, {"name": security_group(cluster, pool)}],
        **(placed if args.pool.reserved_until is None else {}),
    }


def _root_volume(size_gib: int) -> dict[str, object]:
    """The volume of the operating system and of the images that containers run from.

    Unless it is told, a gp3 volume reads 125 MiB/s: three minutes for a training image of 20 GB on
    a machine of 40 USD an hour. It takes up to 1,000 MiB/s, a quarter for each of its IOPS (EC2 API
    reference, EbsBlockDevice; EBS user guide, general purpose SSD).
    """
    return {
        "deviceName": ROOT_VOLUME,
        "rootVolume": True,
        "ebs": {
            "volumeSize": f"{size_gib}Gi",
            "volumeType": "gp3",
            "iops": ROOT_IOPS,
            "throughput": ROOT_MIB_PER_S,
            "encrypted": True,
            "deleteOnTermination": True,
        },
    }


def _pool_metadata(args: AwsGpuPoolArgs, capacity: CapacityType) -> ObjectMetaArgs:
    boot = args.boot
    until = args.pool.reserved_until if capacity == "reserved" else None
    return ObjectMetaArgs(
        name=f"{boot.pool.name}-{capacity}",
        labels=boot.pool.labels,
        annotations=None if until is None else {RESERVED_UNTIL: until},
    )


def _pool_spec(args: AwsGpuPoolArgs, capacity: CapacityType) -> dict[str, object]:
    boot = args.boot
    training = boot.pool.plan.purpose == "training"
    expire = "Never" if args.pool.expire_after_hours is None else f"{args.pool.expire_after_hours}h"
    return {
        "weight": WEIGHTS[capacity],
        "limits": {GPU: str(args.pool.gpu_limits[capacity])},
        "disruption": {
            "consolidationPolicy": "WhenEmpty" if training else "WhenEmptyOrUnderutilized",
            "consolidateAfter": f"{args.pool.consolidate_after_minutes}m",
            **({"budgets": _AFTER_THE_JOB} if training else {}),
        },
        "template": {
            "metadata": {"labels": boot.pool.node_labels},
            "spec": {
                "nodeClassRef": {
                    "group": "karpenter.k8s.aws",
                    "kind": "EC2NodeClass",
                    "name": boot.pool.name,
                },
                "requirements": _requirements(boot.pool.hardware, capacity, args.pool.zone),
                "taints": [
                    {"key": GPU_TAINT.key, "value": GPU_TAINT.value, "effect": GPU_TAINT.effect}
                ],
                "startupTaints": [STARTUP_TAINT],
                "expireAfter": expire,
                "terminationGracePeriod": f"{args.termination_grace_hours}h",
            },
        },
    }


def _requirements(hardware: Hardware, capacity: str, zone: str | None) -> list[dict[str, object]]:
    wanted = {
        **({} if zone is None else {ZONE_LABEL: zone}),
        INSTANCE_TYPE_LABEL: hardware.name,
        CAPACITY_LABEL: capacity,
        "kubernetes.io/arch": hardware.arch,
        "kubernetes.io/os": "linux",
    }
    return [{"key": key, "operator": "In", "values": [value]} for key, value in wanted.items()]
