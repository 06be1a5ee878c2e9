"""The AWS user under which lakeFS reads its buckets and its table from outside of AWS.

The servers run where the control plane is, without an instance role; so they need keys, and the
keys are good for these buckets and this table alone.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
from pulumi_aws import iam

OBJECT_ACTIONS = (
    "s3:GetObject",
    "s3:PutObject",
    "s3:AbortMultipartUpload",
    "s3:ListMultipartUploadParts",
)
BUCKET_ACTIONS = ("s3:ListBucket", "s3:GetBucketLocation", "s3:ListBucketMultipartUploads")
KMS_ACTIONS = ("kms:Decrypt", "kms:GenerateDataKey")
ACCOUNT_ACTIONS = (
    "dynamodb:List*",
    "dynamodb:DescribeReservedCapacity*",
    "dynamodb:DescribeLimits",
    "dynamodb:DescribeTimeToLive",
)
TABLE_ACTIONS = (
    "dynamodb:BatchGet*",
    "dynamodb:DescribeTable",
    "dynamodb:Get*",
    "dynamodb:Query",
    "dynamodb:Scan",
    "dynamodb:BatchWrite*",
    "dynamodb:CreateTable",
    "dynamodb:Delete*",
    "dynamodb:Update*",
    "dynamodb:PutItem",
)


@dataclass(frozen=True, kw_only=True)
class LakefsAccessArgs:
    """`table_arn` where DynamoDB is the key-value store: lakeFS makes the table itself."""

    buckets: Sequence[str]
    table_arn: str | None = None
    kms_key_arns: Sequence[str] = ()
    tags: Mapping[str, str] = field(default_factory=dict)


class LakefsAccess(pulumi.ComponentResource):
    """A user without a password, its policy and its one pair of keys, the secret one encrypted."""

    access_key_id: pulumi.Output[str]
    secret_access_key: pulumi.Output[str]

    def __init__(
        self, name: str, args: LakefsAccessArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:LakefsAccess", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        user = iam.User(f"{name}-user", tags=dict(args.tags), opts=child)
        iam.UserPolicy(f"{name}-policy", user=user.name, policy=policy(args), opts=child)
        key = iam.AccessKey(f"{name}-key", user=user.name, opts=child)
        self.access_key_id = pulumi.Output.secret(key.id)
        self.secret_access_key = pulumi.Output.secret(key.secret)
        self.register_outputs({})


def policy(args: LakefsAccessArgs) -> str:
    """What the documentation of lakeFS asks for, and no more: buckets, keys and table by name."""
    buckets = [f"arn:aws:s3:::{bucket}" for bucket in args.buckets]
    statements = [
        _allow("Objects", OBJECT_ACTIONS, [f"{bucket}/*" for bucket in buckets]),
        _allow("Buckets", BUCKET_ACTIONS, buckets),
    ]
    if args.kms_key_arns:
        statements.append(_allow("Keys", KMS_ACTIONS, list(args.kms_key_arns)))
    if args.table_arn is not None:
        statements.append(_allow("Account", ACCOUNT_ACTIONS, ["*"]))
        statements.append(_allow("Table", TABLE_ACTIONS, [args.table_arn]))
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def _allow(sid: str, actions: Sequence[str], resources: list[str]) -> dict[str, object]:
    return {"Sid": sid, "Effect": "Allow", "Action": list(actions), "Resource": resources}
