"""The IAM policies of Karpenter's user and queue; all of them are known at preview.

They follow the CloudFormation template of Karpenter 1.14 (karpenter.sh, getting started), less what
this fleet never uses: pools bring their instance profile, so Karpenter may make none; the cluster
is no EKS cluster, and has no zonal shift; images are found by owner and name, not by SSM parameter.
tests/conformance/test_karpenter_rights.py compares them statement by statement. Karpenter gives
each of its resources the two tags below, and may touch no other.
"""

from collections.abc import Iterable

Document = dict[str, object]
VERSION = "2012-10-17"
_USED = ("security-group", "subnet", "capacity-reservation", "placement-group")
_MADE = ("fleet", "instance", "volume", "network-interface", "launch-template")


def lifecycle(cluster: str, region: str, roles: Iterable[str]) -> Document:
    """Returns the rights to launch, tag and end the cluster's machines in one region."""
    return _document(
        *_launching(cluster, region),
        *_keeping(cluster, region),
        _allow(
            "GiveMachinesTheirRole",
            "iam:PassRole",
            # a role of another account cannot be passed, so its number need not be known
            [f"arn:aws:iam::*:role/{role}" for role in roles],
            {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}},
        ),
    )


def _launching(cluster: str, region: str) -> list[Document]:
    made = [_arn(region, kind) for kind in (*_MADE, "spot-instances-request")]
    used = [
        # public images and their snapshots belong to no account
        *(f"arn:aws:ec2:{region}::{kind}/*" for kind in ("image", "snapshot")),
        *(_arn(region, kind) for kind in _USED),
    ]
    named = {f"aws:RequestTag/kubernetes.io/cluster/{cluster}": "owned"}
    named |= {"aws:RequestTag/eks:eks-cluster-name": cluster}
    pooled = {"aws:RequestTag/karpenter.sh/nodepool": "*"}
    launch = ["ec2:RunInstances", "ec2:CreateFleet"]
    makers = ["RunInstances", "CreateFleet", "CreateLaunchTemplate"]
    own = _owned("aws:ResourceTag", cluster)
    return [
        _allow("UseWhatIsThere", launch, used),
        _allow("UseOwnTemplates", launch, _arn(region, "launch-template"), own),
        _allow(
            "LaunchTagged",
            [*launch, "ec2:CreateLaunchTemplate"],
            made,
            {"StringEquals": named, "StringLike": pooled},
        ),
        _allow(
            "TagWhatIsLaunched",
            "ec2:CreateTags",
            made,
            {"StringEquals": {**named, "ec2:CreateAction": makers}, "StringLike": pooled},
        ),
    ]


def _keeping(cluster: str, region: str) -> list[Document]:
    owned = _owned("aws:ResourceTag", cluster)
    return [
        _allow(
            "NameOwnMachines",
            "ec2:CreateTags",
            _arn(region, "instance"),
            {
                **owned,
                "StringEqualsIfExists": {"aws:RequestTag/eks:eks-cluster-name": cluster},
                "ForAllValues:StringEquals": {
                    "aws:TagKeys": ["eks:eks-cluster-name", "karpenter.sh/nodeclaim", "Name"]
                },
            },
        ),
        _allow(
            "EndOwnMachines",
            ["ec2:TerminateInstances", "ec2:DeleteLaunchTemplate"],
            [_arn(region, "instance"), _arn(region, "launch-template")],
            owned,
        ),
    ]


def discovery(region: str, queue: str) -> Document:
    """Returns the rights to read instance types, prices and the warnings in the queue."""
    kinds = (
        *("CapacityReservations", "Images", "Instances", "InstanceStatus", "LaunchTemplates"),
        *("InstanceTypeOfferings", "InstanceTypes", "PlacementGroups", "SecurityGroups"),
        *("SpotPriceHistory", "Subnets"),
    )
    return _document(
        _allow(
            "ReadTheRegion",
            [f"ec2:Describe{kind}" for kind in kinds],
            "*",
            {"StringEquals": {"aws:RequestedRegion": region}},
        ),
        # neither knows resources or regions
        _allow("ReadPrices", "pricing:GetProducts", "*"),
        _allow("ListProfiles", "iam:ListInstanceProfiles", "*"),
        _allow("ReadProfiles", "iam:GetInstanceProfile", "arn:aws:iam::*:instance-profile/*"),
        _allow(
            "TakeWarnings",
            ["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"],
            f"arn:aws:sqs:{region}:*:{queue}",
        ),
    )


def warnings_only(queue_arn: str) -> Document:
    """Returns the policy of the queue: EventBridge may send, and only over TLS."""
    return _document(
        {
            "Sid": "TakeWarnings",
            "Effect": "Allow",
            "Principal": {"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]},
            "Action": "sqs:SendMessage",
            "Resource": queue_arn,
        },
        {
            "Sid": "OverTlsAlone",
            "Effect": "Deny",
            "Principal": "*",
            "Action": "sqs:*",
            "Resource": queue_arn,
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        },
    )


def _arn(region: str, kind: str) -> str:
    return f"arn:aws:ec2:{region}:*:{kind}/*"


def _owned(prefix: str, cluster: str) -> dict[str, object]:
    return {
        "StringEquals": {f"{prefix}/kubernetes.io/cluster/{cluster}": "owned"},
        "StringLike": {f"{prefix}/karpenter.sh/nodepool": "*"},
    }


def _allow(
    sid: str,
    action: str | list[str],
    resource: str | list[str],
    condition: dict[str, object] | None = None,
) -> Document:
    statement: Document = {"Sid": sid, "Effect": "Allow", "Action": action, "Resource": resource}
    return statement if condition is None else {**statement, "Condition": condition}


def _document(*statements: Document) -> Document:
    return {"Version": VERSION, "Statement": list(statements)}
