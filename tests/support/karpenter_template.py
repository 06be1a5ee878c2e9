"""What Karpenter's provider grants its own controller, and what of it this fleet takes.

Read from aws/karpenter-provider-aws at the tag below, in the file below: the statements of the
controller's policies, with their actions, the kinds of their resources and the keys of their
conditions. `reread` reads the table again from a clone of that repository.
"""

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

TAG = "v1.14.1"
FILE = "website/content/en/docs/getting-started/getting-started-with-karpenter/cloudformation.yaml"
CLONE = "FLEET_KARPENTER_PROVIDER"
"""The variable that names a clone with the tag."""
CLUSTER, REGION, ROLE, QUEUE = "fleet-test", "us-east-1", "fleet-test-burst-node", "warnings"
_VALUES = {
    "AWS::Partition": "aws",
    "AWS::Region": REGION,
    "AWS::AccountId": "*",
    "ClusterName": CLUSTER,
    "KarpenterNodeRole.Arn": f"arn:aws:iam::*:role/{ROLE}",
    "KarpenterInterruptionQueue.Arn": f"arn:aws:sqs:{REGION}:*:{QUEUE}",
}


@dataclass(frozen=True, kw_only=True)
class Granted:
    """A statement: its actions, its resources as `service:kind`, its conditions' operators and
    keys."""

    actions: frozenset[str]
    resources: frozenset[str]
    conditions: frozenset[str] = frozenset()


def _ec2(*names: str) -> frozenset[str]:
    return frozenset(f"ec2:{name}" for name in names)


_LAUNCH = _ec2("RunInstances", "CreateFleet")
_MADE = _ec2(
    *("fleet", "instance", "volume", "network-interface", "launch-template"),
    "spot-instances-request",
)
_OWNED = "kubernetes.io/cluster/fleet-test"
_OWN = frozenset(
    (f"StringEquals aws:ResourceTag/{_OWNED}", "StringLike aws:ResourceTag/karpenter.sh/nodepool")
)
_TAGGED = frozenset(
    (
        f"StringEquals aws:RequestTag/{_OWNED}",
        "StringEquals aws:RequestTag/eks:eks-cluster-name",
        "StringLike aws:RequestTag/karpenter.sh/nodepool",
    )
)
_PROFILE = frozenset({"iam:instance-profile"})
TEMPLATE: Mapping[str, Granted] = {
    "AllowScopedEC2InstanceAccessActions": Granted(
        actions=_LAUNCH,
        resources=_ec2(
            *("image", "snapshot", "security-group", "subnet", "capacity-reservation"),
            "placement-group",
        ),
    ),
    "AllowScopedEC2LaunchTemplateAccessActions": Granted(
        actions=_LAUNCH, resources=_ec2("launch-template"), conditions=_OWN
    ),
    "AllowScopedEC2InstanceActionsWithTags": Granted(
        actions=_LAUNCH | _ec2("CreateLaunchTemplate"), resources=_MADE, conditions=_TAGGED
    ),
    "AllowScopedResourceCreationTagging": Granted(
        actions=_ec2("CreateTags"),
        resources=_MADE,
        conditions=_TAGGED | {"StringEquals ec2:CreateAction"},
    ),
    "AllowScopedResourceTagging": Granted(
        actions=_ec2("CreateTags"),
        resources=_ec2("instance"),
        conditions=_OWN
        | {
            "StringEqualsIfExists aws:RequestTag/eks:eks-cluster-name",
            "ForAllValues:StringEquals aws:TagKeys",
        },
    ),
    "AllowScopedDeletion": Granted(
        actions=_ec2("TerminateInstances", "DeleteLaunchTemplate"),
        resources=_ec2("instance", "launch-template"),
        conditions=_OWN,
    ),
    "AllowPassingInstanceRole": Granted(
        actions=frozenset({"iam:PassRole"}),
        resources=frozenset({"iam:role"}),
        conditions=frozenset({"StringEquals iam:PassedToService"}),
    ),
    "AllowScopedInstanceProfileCreationActions": Granted(
        actions=frozenset({"iam:CreateInstanceProfile"}),
        resources=_PROFILE,
        conditions=frozenset(
            (
                f"StringEquals aws:RequestTag/{_OWNED}",
                "StringEquals aws:RequestTag/eks:eks-cluster-name",
                "StringEquals aws:RequestTag/topology.kubernetes.io/region",
                "StringLike aws:RequestTag/karpenter.k8s.aws/ec2nodeclass",
            )
        ),
    ),
    "AllowScopedInstanceProfileTagActions": Granted(
        actions=frozenset({"iam:TagInstanceProfile"}),
        resources=_PROFILE,
        conditions=frozenset(
            (
                *(f"StringEquals aws:{side}Tag/{_OWNED}" for side in ("Request", "Resource")),
                "StringEquals aws:RequestTag/eks:eks-cluster-name",
                *(
                    f"{operator} aws:{side}Tag/{key}"
                    for operator, key in (
                        ("StringEquals", "topology.kubernetes.io/region"),
                        ("StringLike", "karpenter.k8s.aws/ec2nodeclass"),
                    )
                    for side in ("Request", "Resource")
                ),
            )
        ),
    ),
    "AllowScopedInstanceProfileActions": Granted(
        actions=frozenset(
            f"iam:{name}InstanceProfile" for name in ("AddRoleTo", "RemoveRoleFrom", "Delete")
        ),
        resources=_PROFILE,
        conditions=frozenset(
            (
                f"StringEquals aws:ResourceTag/{_OWNED}",
                "StringEquals aws:ResourceTag/topology.kubernetes.io/region",
                "StringLike aws:ResourceTag/karpenter.k8s.aws/ec2nodeclass",
            )
        ),
    ),
    "AllowAPIServerEndpointDiscovery": Granted(
        actions=frozenset({"eks:DescribeCluster"}), resources=frozenset({"eks:cluster"})
    ),
    "AllowInterruptionQueueActions": Granted(
        actions=frozenset(f"sqs:{name}" for name in ("DeleteMessage", "GetQueueUrl"))
        | {"sqs:ReceiveMessage"},
        resources=frozenset({"sqs:queue"}),
    ),
    "AllowZonalShiftStatusReadOnly": Granted(
        actions=frozenset({"arc-zonal-shift:GetManagedResource"}),
        resources=frozenset({"*"}),
        conditions=frozenset({"StringEquals arc-zonal-shift:ResourceIdentifier"}),
    ),
    "AllowRegionalReadActions": Granted(
        actions=_ec2(
            *("DescribeCapacityReservations", "DescribeImages", "DescribeInstances"),
            *("DescribeInstanceStatus", "DescribeInstanceTypeOfferings", "DescribeInstanceTypes"),
            *("DescribeLaunchTemplates", "DescribePlacementGroups", "DescribeSecurityGroups"),
            *("DescribeSpotPriceHistory", "DescribeSubnets"),
        ),
        resources=frozenset({"*"}),
        conditions=frozenset({"StringEquals aws:RequestedRegion"}),
    ),
    "AllowSSMReadActions": Granted(
        actions=frozenset({"ssm:GetParameter"}), resources=frozenset({"ssm:parameter"})
    ),
    "AllowPricingReadActions": Granted(
        actions=frozenset({"pricing:GetProducts"}), resources=frozenset({"*"})
    ),
    "AllowUnscopedInstanceProfileListAction": Granted(
        actions=frozenset({"iam:ListInstanceProfiles"}), resources=frozenset({"*"})
    ),
    "AllowInstanceProfileReadActions": Granted(
        actions=frozenset({"iam:GetInstanceProfile"}), resources=_PROFILE
    ),
}
OURS: Mapping[str, str] = {
    "AllowScopedEC2InstanceAccessActions": "UseWhatIsThere",
    "AllowScopedEC2LaunchTemplateAccessActions": "UseOwnTemplates",
    "AllowScopedEC2InstanceActionsWithTags": "LaunchTagged",
    "AllowScopedResourceCreationTagging": "TagWhatIsLaunched",
    "AllowScopedResourceTagging": "NameOwnMachines",
    "AllowScopedDeletion": "EndOwnMachines",
    "AllowPassingInstanceRole": "GiveMachinesTheirRole",
    "AllowInterruptionQueueActions": "TakeWarnings",
    "AllowRegionalReadActions": "ReadTheRegion",
    "AllowPricingReadActions": "ReadPrices",
    "AllowUnscopedInstanceProfileListAction": "ListProfiles",
    "AllowInstanceProfileReadActions": "ReadProfiles",
}
"""The statement of ours for each of theirs."""
NOT_TAKEN: Mapping[str, str] = {
    "AllowScopedInstanceProfileCreationActions": "pools bring their instance profile",
    "AllowScopedInstanceProfileTagActions": "pools bring their instance profile",
    "AllowScopedInstanceProfileActions": "pools bring their instance profile",
    "AllowAPIServerEndpointDiscovery": "no EKS cluster: the endpoint is a setting",
    "AllowZonalShiftStatusReadOnly": "zonal shift is of EKS clusters",
    "AllowSSMReadActions": "images are found by owner and name",
}


def granted(statement: Mapping[str, Any]) -> Granted:
    """A statement of a policy, in the terms of the table."""
    conditions = {
        f"{operator} {key}"
        for operator, keys in statement.get("Condition", {}).items()
        for key in keys
    }
    return Granted(
        actions=frozenset(_listed(statement["Action"])),
        resources=frozenset(map(_kind, _listed(statement["Resource"]))),
        conditions=frozenset(conditions),
    )


def reread(clone: Path) -> dict[str, Mapping[str, Any]]:
    """The statements of the template at the tag by their Sid, with the names of the tests."""
    command = ("git", "-C", str(clone), "show", f"{TAG}:{FILE}")
    shown = subprocess.run(command, check=True, capture_output=True, text=True)
    template = yaml.load(shown.stdout, Loader=_Loader)  # noqa: S506  # a safe one, see there
    documents = [
        json.loads(_filled(each["Properties"]["PolicyDocument"]))
        for each in template["Resources"].values()
        if each["Type"] == "AWS::IAM::ManagedPolicy"
    ]
    return {each["Sid"]: each for document in documents for each in document["Statement"]}


class _Loader(yaml.SafeLoader):
    """Reads YAML with CloudFormation's short functions, each as its argument."""


_Loader.add_multi_constructor("!", lambda loader, _, node: loader.construct_scalar(node))


def _filled(text: str) -> str:
    return re.sub(r"\$\{([^}]+)\}", lambda found: _VALUES[found[1]], text)


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _kind(resource: str) -> str:
    if resource == "*":
        return resource
    service, _, _, rest = resource.removeprefix("arn:aws:").split(":", 3)
    kind = rest.partition("/")[0] if "/" in rest else "queue"
    return f"{service}:{kind}"
