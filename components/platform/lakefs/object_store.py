"""The bucket of an AWS site in which lakeFS keeps what it versions: private and encrypted."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi
from pulumi_aws import s3


@dataclass(frozen=True, kw_only=True)
class ObjectStoreArgs:
    """`bucket` is its name in the world. Without `kms_key_arn` S3 encrypts with keys of its own."""

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

    It has no S3 versioning: lakeFS never overwrites an object, and a second history would keep what
    its garbage collection has removed. A bucket with objects in it is never deleted.
    """

    bucket: pulumi.Output[str]
    storage_namespace: pulumi.Output[str]
    """Of the whole bucket; each repository takes a prefix of it that no other has ever had."""

    def __init__(
        self, name: str, args: ObjectStoreArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:ObjectStore", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        bucket = s3.Bucket(
            f"{name}-bucket",
            bucket=args.bucket,
            force_destroy=False,
            tags=dict(args.tags),
            opts=child,
        )
        private = s3.BucketPublicAccessBlock(
            f"{name}-private",
            bucket=bucket.bucket,
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
            opts=child,
        )
        s3.BucketOwnershipControls(
            f"{name}-owner",
            bucket=bucket.bucket,
            rule=s3.BucketOwnershipControlsRuleArgs(object_ownership="BucketOwnerEnforced"),
            opts=child,
        )
        s3.BucketServerSideEncryptionConfiguration(
            f"{name}-encryption",
            bucket=bucket.bucket,
            rules=[_encryption(args.kms_key_arn)],
            opts=child,
        )
        s3.BucketPolicy(
            f"{name}-tls",
            bucket=bucket.bucket,
            policy=_tls_only(args.bucket),
            # S3 answers 409 to two settings of one bucket at a time
            opts=pulumi.ResourceOptions.merge(child, pulumi.ResourceOptions(depends_on=[private])),
        )
        self.bucket = bucket.bucket
        self.storage_namespace = pulumi.Output.concat("s3://", bucket.bucket)
        self.register_outputs({"storageNamespace": self.storage_namespace})


def _encryption(kms_key_arn: str | None) -> s3.BucketServerSideEncryptionConfigurationRuleArgs:
    algorithm = "AES256" if kms_key_arn is None else "aws:kms"
    return s3.BucketServerSideEncryptionConfigurationRuleArgs(
        apply_server_side_encryption_by_default=s3.BucketServerSideEncryptionConfigurationRuleApplyServerSideEncryptionByDefaultArgs(
            sse_algorithm=algorithm, kms_master_key_id=kms_key_arn
        ),
        # one data key for many objects: KMS is paid by the request
        bucket_key_enabled=kms_key_arn is not None,
    )


def _tls_only(bucket: str) -> str:
    arn = f"arn:aws:s3:::{bucket}"
    statement = {
        "Sid": "OnlyTls",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": [arn, f"{arn}/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})
