"""A pool of Flatcar GPU instances on AWS that Karpenter launches and terminates."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from components.pools.aws_boot import AwsBootData
from components.pools.aws_image import ami_name, published_image
from components.pools.boot import PoolBoot
from hardware.catalogue import Hardware
from hardware.cpuset import parse_list
from ignition.plan.numa_plan import NumaPlan
from settings.forms import CapacityType
from settings.names import (
    CAPACITY_LABEL,
    GPU,
    INSTANCE_TYPE_LABEL,
    POOL_LABEL,
    RESERVED_UNTIL,
    tags,
)
from settings.node_boot import GPU_TAINT
from settings.pools import AwsPoolSettings
from settings.versions import FLATCAR_AMI_OWNER

KUBELET_MAX_PODS = 110  # the kubelet's default; Karpenter's own counts addresses
ROOT_VOLUME = "/dev/xvda"
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
    """`pool` is the pool as the stack file declares it; `crds` installs Karpenter's CRDs."""

    boot: PoolBoot
    pool: AwsPoolSettings
    crds: pulumi.Resource
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
        if boot.pool.hardware.efa_interfaces and not boot.efa:
            pulumi.log.warn(_slow_network(boot), self)
        child = pulumi.ResourceOptions(parent=self)
        # the API server knows these kinds only once the chart with their CRDs is installed
        after_crds = pulumi.ResourceOptions.merge(
            child, pulumi.ResourceOptions(depends_on=[args.crds])
        )
        self.image_id = published_image(boot, args.boot.flatcar, pulumi.InvokeOptions(parent=self))
        boot_data = AwsBootData(f"{name}-boot", boot, child)
        metadata = ObjectMetaArgs(name=boot.pool.name, labels=boot.pool.labels)
        CustomResource(
            f"{name}-class",
            api_version="karpenter.k8s.aws/v1",
            kind="EC2NodeClass",
            metadata=metadata,
            spec=_class_spec(args, boot_data),
            opts=after_crds,
        )
        for capacity in args.pool.gpu_limits:
            CustomResource(
                f"{name}-{capacity}",
                api_version="karpenter.sh/v1",
                kind="NodePool",
                metadata=_pool_metadata(args, capacity),
                spec=_pool_spec(args, capacity),
                opts=after_crds,
            )
        self.register_outputs({"imageId": self.image_id})


def _slow_network(boot: PoolBoot) -> str:
    hardware = boot.pool.hardware
    return (
        f"pool {boot.pool.name}: {hardware.name} has {hardware.efa_interfaces} EFA interfaces "
        "and the environment no driver for them, so traffic between nodes goes over TCP; "
        "gpu-fleet:versions.efa names a system extension with it, Flatcar has none."
    )


def reservations(plan: NumaPlan) -> dict[str, object]:
    """Return the resources that a node reserves, as fields of an EC2NodeClass.

    Karpenter does not configure the kubelet of Custom images, and predicts a node's allocatable
    resources from these fields. They are sums, because it knows neither reservedSystemCPUs nor that
    huge pages reduce the memory of pods. Without CPUs in kubeReserved it would reserve some by a
    formula of its own, and the largest pods would stay pending.
    """
    system, kube = (_reserved(plan, part) for part in ("systemReserved", "kubeReserved"))
    hugepages_mib = sum(node.hugepages_1gi * 1024 + node.hugepages_2mi * 2 for node in plan.nodes)
    system_mib = int(system["memory"].removesuffix("Mi")) + hugepages_mib
    return {
        "maxPods": plan.kubelet.get("maxPods", KUBELET_MAX_PODS),
        "systemReserved": {
            "cpu": str(len(parse_list(plan.housekeeping))),
            "memory": f"{system_mib}Mi",
        },
        "kubeReserved": {"cpu": "0", **kube},
        "evictionHard": _reserved(plan, "evictionHard"),
    }


def _reserved(plan: NumaPlan, part: str) -> dict[str, str]:
    found = plan.kubelet[part]
    if not isinstance(found, Mapping):
        raise TypeError(f"the plan of {plan.hardware} has no mapping under kubelet.{part}")
    return {str(key): str(value) for key, value in found.items()}


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
    return spec


def _root_volume(size_gib: int) -> dict[str, object]:
    return {
        "deviceName": ROOT_VOLUME,
        "rootVolume": True,
        "ebs": {
            "volumeSize": f"{size_gib}Gi",
            "volumeType": "gp3",
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
                "requirements": _requirements(args.boot.pool.hardware, capacity),
                "taints": [
                    {"key": GPU_TAINT.key, "value": GPU_TAINT.value, "effect": GPU_TAINT.effect}
                ],
                "startupTaints": [STARTUP_TAINT],
                "expireAfter": expire,
                "terminationGracePeriod": f"{args.termination_grace_hours}h",
            },
        },
    }


def _requirements(hardware: Hardware, capacity: str) -> list[dict[str, object]]:
    wanted = {
        INSTANCE_TYPE_LABEL: hardware.name,
        CAPACITY_LABEL: capacity,
        "kubernetes.io/arch": hardware.arch,
        "kubernetes.io/os": "linux",
    }
    return [{"key": key, "operator": "In", "values": [value]} for key, value in wanted.items()]
