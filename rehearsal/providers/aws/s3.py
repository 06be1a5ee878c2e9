"""Buckets and what is in them."""

from __future__ import annotations

from rehearsal.providers.aws import judges, outputs, rules
from rehearsal.providers.kinds import Kind
from rehearsal.providers.naming import AutoName

IN_BUCKET = (judges.exists("bucket", judges.BUCKET, "bucket"),)
KINDS = (
    Kind(
        module="pulumi_aws.s3",
        name="Bucket",
        rules=rules.S3_BUCKET,
        unique=("bucket",),
        replace_on=("bucket", "bucketPrefix", "objectLockEnabled", "region"),
        auto_name=AutoName(property="bucket", limit=63, lower=True),
        defaults={"forceDestroy": False, "objectLockEnabled": False},
        computed=frozenset({"acl", "requestPayer", "bucketPrefix"}),
        identify=lambda asked: asked.text("bucket"),
        known=outputs.tagged_in_region,
        outputs=outputs.bucket,
    ),
    Kind(
        module="pulumi_aws.s3",
        name="BucketPublicAccessBlock",
        rules=rules.BUCKET_REFERENCE,
        admission=IN_BUCKET,
        unique=("bucket",),
        replace_on=("bucket", "region"),
        defaults=dict.fromkeys(
            ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets"),
            False,
        ),
        identify=lambda asked: asked.text("bucket"),
        known=outputs.in_region,
    ),
    Kind(
        module="pulumi_aws.s3",
        name="BucketServerSideEncryptionConfiguration",
        rules=rules.S3_ENCRYPTION,
        judges=(judges.key_needs_kms,),
        admission=IN_BUCKET,
        replace_on=("bucket", "expectedBucketOwner", "region"),
        identify=lambda asked: asked.text("bucket"),
        known=outputs.in_region,
    ),
    Kind(
        module="pulumi_aws.s3",
        name="BucketOwnershipControls",
        rules=rules.S3_OWNERSHIP,
        admission=IN_BUCKET,
        replace_on=("bucket", "region"),
        identify=lambda asked: asked.text("bucket"),
        known=outputs.in_region,
    ),
    Kind(
        module="pulumi_aws.s3",
        name="BucketPolicy",
        rules=rules.S3_POLICY,
        admission=IN_BUCKET,
        replace_on=("bucket", "region"),
        identify=lambda asked: asked.text("bucket"),
        known=outputs.in_region,
    ),
    Kind(
        module="pulumi_aws.s3",
        name="BucketVersioning",
        rules=rules.S3_VERSIONING,
        admission=IN_BUCKET,
        replace_on=("bucket", "expectedBucketOwner", "region"),
        identify=lambda asked: asked.text("bucket"),
        known=outputs.in_region,
    ),
    Kind(
        module="pulumi_aws.s3",
        name="BucketObjectv2",
        rules=rules.S3_OBJECT,
        judges=(judges.at_most_one("content", "contentBase64", "source"),),
        admission=IN_BUCKET,
        replace_on=("bucket", "key", "region"),
        defaults={"forceDestroy": False},
        computed=frozenset(
            {"etag", "contentType", "storageClass", "serverSideEncryption", "kmsKeyId"}
            | {"bucketKeyEnabled", "acl"}
        ),
        identify=lambda asked: f"{asked.text('bucket')}/{asked.text('key')}",
        known=outputs.tagged_in_region,
        outputs=outputs.bucket_object,
    ),
)
