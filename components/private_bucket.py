"""A bucket of S3 that is never public, only encrypted, and only reached over TLS."""

import json
from collections.abc import Mapping

import pulumi
from pulumi_aws import s3


def private_bucket(  # noqa: PLR0913  # two of them are by name
    name: str,
    bucket: str,
    tags: Mapping[str, str],
    opts: pulumi.ResourceOptions,
    *,
    kms_key_arn: str | None = None,
    disposable: bool = False,
) -> s3.Bucket:
    """Register the bucket, which is deleted with objects in it only where they are `disposable`.

    Without `kms_key_arn` S3 encrypts with keys of its own.
    """
    made = s3.Bucket(
        f"{name}-bucket", bucket=bucket, force_destroy=disposable, tags=dict(tags), opts=opts
    )
    private = s3.BucketPublicAccessBlock(
        f"{name}-private",
        bucket=made.bucket,
        block_public_acls=True,
        block_public_policy=True,
        ignore_public_acls=True,
        restrict_public_buckets=True,
        opts=opts,
    )
    s3.BucketOwnershipControls(
        f"{name}-owner",
        bucket=made.bucket,
        rule=s3.BucketOwnershipControlsRuleArgs(object_ownership="BucketOwnerEnforced"),
        opts=opts,
    )
    s3.BucketServerSideEncryptionConfiguration(
        f"{name}-encryption", bucket=made.bucket, rules=[_encryption(kms_key_arn)], opts=opts
    )
    s3.BucketPolicy(
        f"{name}-tls",
        bucket=made.bucket,
        policy=_tls_only(bucket),
        # S3 answers 409 to two settings of one bucket at a time
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[private])),
    )
    return made


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
