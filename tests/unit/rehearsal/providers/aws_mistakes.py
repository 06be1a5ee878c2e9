"""Wrong inputs of AWS, each with the refusal."""

from rehearsal.providers.values import UNKNOWN, Properties
from tests.unit.rehearsal.providers import iam_mistakes

BUCKET = "aws:s3/bucket:Bucket"
ENCRYPTION = (
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
)
OBJECT = "aws:s3/bucketObjectv2:BucketObjectv2"
QUEUE = "aws:sqs/queue:Queue"
EVENT_RULE = "aws:cloudwatch/eventRule:EventRule"
EVENT_TARGET = "aws:cloudwatch/eventTarget:EventTarget"
VPC = "aws:ec2/vpc:Vpc"
SUBNET = "aws:ec2/subnet:Subnet"
GROUP = "aws:ec2/securityGroup:SecurityGroup"


def encryption(**default: str) -> Properties:
    return {"bucket": "boot-data", "rules": [{"applyServerSideEncryptionByDefault": {**default}}]}


REFUSED: dict[str, tuple[str, Properties, str]] = {
    **iam_mistakes.REFUSED,
    "an unknown property": (
        BUCKET,
        {"buket": "b"},
        "buket is not a property of Bucket; did you mean bucket?",
    ),
    "an unknown property in a list": (
        ENCRYPTION,
        {"bucket": "boot-data", "rules": [{"bucketKey": True}]},
        "rules[0].bucketKey is not a property of BucketServerSideEncryptionConfigurationRule",
    ),
    "a missing property in a list": (
        ENCRYPTION,
        encryption(),
        "rules[0].applyServerSideEncryptionByDefault.sseAlgorithm is missing",
    ),
    "a number for a string": (
        BUCKET,
        {"tags": {"fleet.gpu/nodes": 3}},
        'tags["fleet.gpu/nodes"] is 3, but it must be a string.',
    ),
    "a string for true or false": (
        BUCKET,
        {"forceDestroy": "yes"},
        'forceDestroy is "yes", but it must be true or false.',
    ),
    "a bucket name with capitals": (
        BUCKET,
        {"bucket": "Fleet_Data"},
        'bucket is "Fleet_Data", but it must have 3 to 63 lower-case letters',
    ),
    "a bucket name that S3 reserves": (
        BUCKET,
        {"bucket": "xn--fleet"},
        'bucket is "xn--fleet", but it must not begin or end with what S3 reserves',
    ),
    "a tag of AWS's own": (
        BUCKET,
        {"tags": {"aws:owner": "me"}},
        'the key "aws:owner" must have 1 to 128 characters and not begin with aws:',
    ),
    "an unknown encryption": (
        ENCRYPTION,
        encryption(sseAlgorithm="AES128"),
        'sseAlgorithm is "AES128", but it must be one of AES256, aws:kms, aws:kms:dsse.',
    ),
    "a KMS key without KMS": (
        ENCRYPTION,
        encryption(sseAlgorithm="AES256", kmsMasterKeyId="alias/fleet"),
        'kmsMasterKeyId is "alias/fleet", but sseAlgorithm is AES256.',
    ),
    "an object with two contents": (
        OBJECT,
        {"bucket": "boot-data", "key": "k", "content": "a", "contentBase64": "YQ=="},
        "at most one of content, contentBase64, source may be given, not content and",
    ),
    "an unknown ownership": (
        "aws:s3/bucketOwnershipControls:BucketOwnershipControls",
        {"bucket": "boot-data", "rule": {"objectOwnership": "Mine"}},
        "but it must be one of BucketOwnerEnforced, BucketOwnerPreferred, ObjectWriter.",
    ),
    "a queue that keeps messages too long": (
        QUEUE,
        {"messageRetentionSeconds": 2000000},
        "messageRetentionSeconds is 2000000, but it must be from 60 to 1209600.",
    ),
    "a fifo queue with a plain name": (
        QUEUE,
        {"name": "interruptions", "fifoQueue": True},
        'name is "interruptions", but it must end in .fifo where fifoQueue is true.',
    ),
    "an event rule without trigger": (
        EVENT_RULE,
        {"name": "spot"},
        "eventPattern and scheduleExpression are missing: a rule must have one.",
    ),
    "a schedule that is none": (
        EVENT_RULE,
        {"scheduleExpression": "every 5 minutes"},
        'scheduleExpression is "every 5 minutes", but it must be rate(...) or cron(...)',
    ),
    "a target that is no ARN": (
        EVENT_TARGET,
        {"rule": "spot", "arn": "queue"},
        'arn is "queue", but it must be an ARN.',
    ),
    "a VPC that is too large": (
        VPC,
        {"cidrBlock": "10.0.0.0/8"},
        'cidrBlock is "10.0.0.0/8", but it must be an IPv4 network between a /16 and a /28',
    ),
    "a zone of another region": (
        SUBNET,
        {"vpcId": UNKNOWN, "cidrBlock": "10.0.1.0/24", "availabilityZone": "eu-west-1a"},
        'availabilityZone is "eu-west-1a", but it must be a zone of us-east-1, such as us-east-1a.',
    ),
    "a security group open to a bad range": (
        GROUP,
        {"ingress": [{"protocol": "tcp", "fromPort": 1, "toPort": 2, "cidrBlocks": ["10.0.0.0"]}]},
        'ingress[0].cidrBlocks[0] is "10.0.0.0", but it must be an IPv4 network in CIDR notation',
    ),
    "an unknown region of a resource": (
        BUCKET,
        {"region": "us-east-9"},
        'region is "us-east-9", but it must be one of us-east-1',
    ),
}
