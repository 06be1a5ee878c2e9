"""The resource types of AWS that the stand-in knows."""

from __future__ import annotations

from rehearsal.providers.aws import judges, outputs, rules
from rehearsal.providers.aws.facts import new_id
from rehearsal.providers.aws.kinds_iam import IAM, NAME_PREFIX
from rehearsal.providers.kinds import Kind
from rehearsal.providers.naming import AutoName

IN_BUCKET = (judges.exists("bucket", judges.BUCKET, "bucket"),)

S3 = (
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
EVENTS = (
    Kind(
        module="pulumi_aws.sqs",
        name="Queue",
        rules=rules.SQS_QUEUE,
        judges=(judges.queue_is_consistent,),
        unique=("name",),
        replace_on=("name", "namePrefix", "fifoQueue", "region"),
        auto_name=AutoName(limit=80),
        defaults={
            "delaySeconds": 0,
            "fifoQueue": False,
            "maxMessageSize": 262144,
            "messageRetentionSeconds": 345600,
            "receiveWaitTimeSeconds": 0,
            "visibilityTimeoutSeconds": 30,
        },
        computed=NAME_PREFIX | {"policy"},
        identify=outputs.queue_url,
        known=outputs.tagged_in_region,
        outputs=outputs.queue,
    ),
    Kind(
        module="pulumi_aws.sqs",
        name="QueuePolicy",
        rules=rules.SQS_POLICY,
        replace_on=("queueUrl", "region"),
        identify=lambda asked: asked.text("queueUrl"),
        known=outputs.in_region,
    ),
    Kind(
        module="pulumi_aws.cloudwatch",
        name="EventRule",
        rules=rules.EVENT_RULE,
        judges=(judges.rule_has_a_trigger,),
        unique=("name",),
        replace_on=("name", "namePrefix", "eventBusName", "region"),
        auto_name=AutoName(limit=64),
        defaults={"eventBusName": "default", "forceDestroy": False},
        computed=NAME_PREFIX,
        identify=lambda asked: asked.text("name"),
        known=outputs.tagged_in_region,
        outputs=outputs.event_rule,
    ),
    Kind(
        module="pulumi_aws.cloudwatch",
        name="EventTarget",
        rules=rules.EVENT_TARGET,
        admission=(judges.exists("rule", judges.EVENT_RULE, "event rule"),),
        replace_on=("rule", "targetId", "eventBusName", "region"),
        defaults={"eventBusName": "default", "forceDestroy": False},
        computed=frozenset({"targetId"}),
        identify=lambda asked: f"{asked.text('rule')}-{outputs.target_id(asked)}",
        known=outputs.in_region,
        outputs=outputs.event_target,
    ),
)
EC2 = (
    Kind(
        module="pulumi_aws.ec2",
        name="Vpc",
        rules=rules.EC2_VPC,
        replace_on=("cidrBlock", "region"),
        defaults={"enableDnsSupport": True, "instanceTenancy": "default"},
        identify=lambda _: new_id("vpc"),
        known=outputs.tagged_in_region,
        outputs=outputs.vpc,
    ),
    Kind(
        module="pulumi_aws.ec2",
        name="Subnet",
        rules=rules.EC2_SUBNET,
        judges=(judges.subnet_fits,),
        admission=(judges.exists("vpcId", judges.VPC, "VPC"), judges.subnet_is_free),
        replace_on=("vpcId", "cidrBlock", "availabilityZone", "region"),
        defaults={"mapPublicIpOnLaunch": False},
        computed=frozenset({"availabilityZone", "availabilityZoneId"}),
        identify=lambda _: new_id("subnet"),
        known=outputs.tagged_in_region,
        outputs=outputs.subnet,
    ),
    Kind(
        module="pulumi_aws.ec2",
        name="SecurityGroup",
        rules=rules.EC2_SECURITY_GROUP,
        replace_on=("name", "namePrefix", "description", "vpcId", "region"),
        auto_name=AutoName(limit=255),
        defaults={"description": "Managed by Pulumi", "revokeRulesOnDelete": False},
        computed=NAME_PREFIX | {"vpcId", "ingress", "egress"},
        identify=lambda _: new_id("sg"),
        known=outputs.tagged_in_region,
        outputs=outputs.security_group,
    ),
    Kind(
        module="pulumi_aws.ec2",
        name="LaunchTemplate",
        rules=rules.EC2_LAUNCH_TEMPLATE,
        unique=("name",),
        replace_on=("name", "namePrefix", "region"),
        auto_name=AutoName(limit=125),
        computed=NAME_PREFIX | {"defaultVersion"},
        identify=lambda _: new_id("lt"),
        known=outputs.tagged_in_region,
        outputs=outputs.launch_template,
    ),
)
KINDS = (*S3, *IAM, *EVENTS, *EC2)
