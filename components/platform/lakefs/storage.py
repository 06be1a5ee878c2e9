"""The bucket on AWS in which lakeFS keeps its objects, and the AWS user that may use it.

The servers of lakeFS run where the control plane is, without an instance role; so they need keys.
The keys are good for these buckets and this table alone.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
from pulumi_aws import iam, s3

from components.private_bucket import private_bucket

KEPT_DAYS = 30
"""Days in which an overwritten or deleted object can be had back."""
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
class ObjectStoreArgs:
    """`bucket` is unique in the world. Without `kms_key_arn` S3 encrypts with keys of its own."""

    bucket: str
    kms_key_arn: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", self.bucket):
            raise ValueError(
                f"bucket is {self.bucket!r}; allowed: 3 to 63 of a-z, 0-9, '.' and '-'."
            )


class ObjectStore(pulumi.ComponentResource):
    """A bucket that is never public, only encrypted, and only reached over TLS.

    lakeFS never overwrites an object, but whoever has its key may: S3 keeps what was overwritten or
    deleted for `KEPT_DAYS` more, and the key cannot remove that. What garbage collection deletes is
    thus paid for so much longer. A bucket with objects in it is never deleted.
    """

    bucket: pulumi.Output[str]
    storage_namespace: pulumi.Output[str]
    """The address of the bucket; each repository takes a prefix that no other has ever had."""

    def __init__(
        self, name: str, args: ObjectStoreArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:ObjectStore", name, None, opts)
        # nobody can make its data again
        child = pulumi.ResourceOptions(parent=self, protect=True)
        bucket = private_bucket(name, args.bucket, args.tags, child, kms_key_arn=args.kms_key_arn)
        versioning = s3.BucketVersioning(
            f"{name}-versions",
            bucket=bucket.bucket,
            versioning_configuration=s3.BucketVersioningVersioningConfigurationArgs(
                status="Enabled"
            ),
            opts=child,
        )
        s3.BucketLifecycleConfiguration(
            f"{name}-old-versions",
            bucket=bucket.bucket,
            rules=[_old_versions_end()],
            opts=pulumi.ResourceOptions(parent=self, depends_on=[versioning]),
        )
        self.bucket = bucket.bucket
        self.storage_namespace = pulumi.Output.concat("s3://", bucket.bucket)
        self.register_outputs({"storageNamespace": self.storage_namespace})


def _old_versions_end() -> s3.BucketLifecycleConfigurationRuleArgs:
    return s3.BucketLifecycleConfigurationRuleArgs(
        id="old-versions",
        status="Enabled",
        filter=s3.BucketLifecycleConfigurationRuleFilterArgs(prefix=""),
        noncurrent_version_expiration=s3.BucketLifecycleConfigurationRuleNoncurrentVersionExpirationArgs(
            noncurrent_days=KEPT_DAYS
        ),
        # what is left of a deleted object, once its versions have ended
        expiration=s3.BucketLifecycleConfigurationRuleExpirationArgs(
            expired_object_delete_marker=True
        ),
        abort_incomplete_multipart_upload=s3.BucketLifecycleConfigurationRuleAbortIncompleteMultipartUploadArgs(
            days_after_initiation=KEPT_DAYS
        ),
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
    """Returns the IAM policy that lakeFS's documentation asks for, for these resources alone."""
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
