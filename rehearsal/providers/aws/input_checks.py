"""The checks of single inputs of AWS; the limits are those of its API references."""

import base64
import binascii
import ipaddress
import re

from rehearsal.providers.aws import policies
from rehearsal.providers.aws.facts import REGIONS
from rehearsal.providers.checks import (
    InputCheck,
    cidr,
    json_object,
    matching,
    network,
    one_of,
    whole_number,
)
from rehearsal.providers.values import Unknown, Value

BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
RESERVED_STARTS = ("xn--", "sthree-", "amzn-s3-demo-")
RESERVED_ENDS = ("-s3alias", "--ol-s3", ".mrap", "--x-s3", "--table-s3")


def bucket_name(value: Value) -> str | None:
    """Allows the name of a general purpose bucket."""
    name = str(value)
    good = BUCKET.fullmatch(name) and ".." not in name and not _is_address(name)
    if not good:
        return (
            "it must have 3 to 63 lower-case letters, digits, hyphens and dots, and be no address"
        )
    if name.startswith(RESERVED_STARTS) or name.endswith(RESERVED_ENDS):
        reserved = ", ".join((*RESERVED_STARTS, *RESERVED_ENDS))
        return f"it must not begin or end with what S3 reserves: {reserved}"
    return None


def tags(value: Value) -> str | None:
    """Allows the tags that all services accept."""
    items = value if isinstance(value, dict) else {}
    if len(items) > 50:
        return f"it must have at most 50 tags and has {len(items)}"
    for key, text in items.items():
        if key.lower().startswith("aws:") or not 1 <= len(key) <= 128:
            return f'the key "{key}" must have 1 to 128 characters and not begin with aws:'
        if not isinstance(text, Unknown) and len(str(text)) > 256:
            return f'the value of "{key}" must have at most 256 characters'
    return None


def vpc_network(value: Value) -> str | None:
    """Allows the range of a VPC or a subnet."""
    parsed = network(value)
    good = cidr(version=4)(value) is None and parsed is not None and 16 <= parsed.prefixlen <= 28
    return None if good else "it must be an IPv4 network between a /16 and a /28, without host bits"


def base64_text(value: Value) -> str | None:
    """Allows base64."""
    try:
        base64.b64decode(str(value), validate=True)
    except binascii.Error:
        return "it must be base64"
    return None


def _is_address(name: str) -> bool:
    try:
        ipaddress.IPv4Address(name)
    except ValueError:
        return False
    return True


arn = matching(r"arn:(aws|aws-us-gov|aws-cn):[^:]*:[^:]*:[^:]*:.+", "an ARN")
encryption = one_of("AES256", "aws:kms", "aws:kms:dsse")
iam_name = matching(r"[\w+=,.@-]{1,64}", "1 to 64 letters, digits or characters of +=,.@_-")
iam_long_name = matching(r"[\w+=,.@-]{1,128}", "1 to 128 letters, digits or characters of +=,.@_-")
iam_path = matching(r"/|/[\x21-\x7e]{1,510}/", "a path that begins and ends with /")
protocol = matching(r"-1|tcp|udp|icmp|icmpv6|\d{1,3}", "tcp, udp, icmp, icmpv6, a number or -1")
port = whole_number(-1, 65535)
TAGS = InputCheck("tags", tags)
REGION = InputCheck("region", one_of(*REGIONS))
BUCKET_REFERENCE = (InputCheck("bucket", bucket_name), REGION)

S3_BUCKET = (*BUCKET_REFERENCE, TAGS)
S3_ENCRYPTION = (
    *BUCKET_REFERENCE,
    InputCheck("rules[*].applyServerSideEncryptionByDefault.sseAlgorithm", encryption),
)
S3_POLICY = (*BUCKET_REFERENCE, InputCheck("policy", policies.RESOURCE_POLICY))
S3_VERSIONING = (
    *BUCKET_REFERENCE,
    InputCheck("versioningConfiguration.status", one_of("Enabled", "Suspended", "Disabled")),
)
S3_OBJECT = (
    *BUCKET_REFERENCE,
    InputCheck("key", matching(r"(?s).{1,1024}", "1 to 1024 characters")),
    InputCheck("serverSideEncryption", encryption),
    InputCheck("contentBase64", base64_text),
    TAGS,
)
S3_OWNERSHIP = (
    *BUCKET_REFERENCE,
    InputCheck(
        "rule.objectOwnership",
        one_of("BucketOwnerEnforced", "BucketOwnerPreferred", "ObjectWriter"),
    ),
)
IAM_ROLE = (
    InputCheck("name", iam_name),
    InputCheck("path", iam_path),
    InputCheck("assumeRolePolicy", policies.TRUST),
    InputCheck("maxSessionDuration", whole_number(3600, 43200)),
    InputCheck("managedPolicyArns[*]", arn),
    InputCheck("permissionsBoundary", arn),
    TAGS,
)
IAM_USER = (
    InputCheck("name", iam_name),
    InputCheck("path", iam_path),
    InputCheck("permissionsBoundary", arn),
    TAGS,
)
IAM_ACCESS_KEY = (InputCheck("user", iam_name), InputCheck("status", one_of("Active", "Inactive")))
IAM_USER_POLICY = (InputCheck("name", iam_long_name), InputCheck("policy", policies.INLINE_OF_USER))
IAM_ROLE_POLICY = (InputCheck("name", iam_long_name), InputCheck("policy", policies.INLINE))
IAM_POLICY = (
    InputCheck("name", iam_long_name),
    InputCheck("path", iam_path),
    InputCheck("policy", policies.IDENTITY),
    TAGS,
)
IAM_ATTACHMENT = (InputCheck("policyArn", arn),)
IAM_PROFILE = (InputCheck("name", iam_long_name), InputCheck("path", iam_path), TAGS)
SQS_QUEUE = (
    InputCheck("name", matching(r"[A-Za-z0-9_-]{1,80}|[A-Za-z0-9_-]{1,75}\.fifo", "a queue name")),
    InputCheck("visibilityTimeoutSeconds", whole_number(0, 43200)),
    InputCheck("messageRetentionSeconds", whole_number(60, 1209600)),
    InputCheck("delaySeconds", whole_number(0, 900)),
    InputCheck("receiveWaitTimeSeconds", whole_number(0, 20)),
    InputCheck("maxMessageSize", whole_number(1024, 1048576)),
    InputCheck("policy", policies.RESOURCE_POLICY),
    InputCheck("redrivePolicy", json_object),
    REGION,
    TAGS,
)
SQS_POLICY = (
    InputCheck("queueUrl", matching(r"https://\S+", "the URL of a queue, as Queue.url gives it")),
    InputCheck("policy", policies.RESOURCE_POLICY),
    REGION,
)
EVENT_RULE = (
    InputCheck("name", matching(r"[.A-Za-z0-9_-]{1,64}", "1 to 64 letters, digits, dots, _ or -")),
    InputCheck("eventPattern", json_object),
    InputCheck(
        "scheduleExpression",
        matching(r"(rate|cron)\(.+\)", "rate(...) or cron(...), such as rate(5 minutes)"),
    ),
    InputCheck(
        "state",
        one_of("ENABLED", "DISABLED", "ENABLED_WITH_ALL_CLOUDTRAIL_MANAGEMENT_EVENTS"),
    ),
    InputCheck("roleArn", arn),
    REGION,
    TAGS,
)
EVENT_TARGET = (
    InputCheck("arn", arn),
    InputCheck("roleArn", arn),
    InputCheck("input", json_object),
    REGION,
)
EC2_VPC = (
    InputCheck("cidrBlock", vpc_network),
    InputCheck("instanceTenancy", one_of("default", "dedicated")),
    REGION,
    TAGS,
)
EC2_SUBNET = (
    InputCheck(
        "vpcId", matching(r"vpc-[0-9a-f]{8,17}", "the id of a VPC, such as vpc-0a1b2c3d4e5f60718")
    ),
    InputCheck("cidrBlock", vpc_network),
    REGION,
    TAGS,
)
EC2_SECURITY_GROUP = (
    InputCheck(
        "name", matching(r"(?!sg-)[\x20-\x7e]{1,255}", "1 to 255 characters, not sg- first")
    ),
    *(
        InputCheck(f"{side}[*].{name}", check)
        for side in ("ingress", "egress")
        for name, check in {
            "protocol": protocol,
            "fromPort": port,
            "toPort": port,
            "cidrBlocks[*]": cidr(version=4),
            "ipv6CidrBlocks[*]": cidr(version=6),
        }.items()
    ),
    REGION,
    TAGS,
)
EC2_PLACEMENT_GROUP = (
    InputCheck("name", matching(r"[\x20-\x7e]{1,255}", "1 to 255 characters")),
    InputCheck("strategy", one_of("cluster", "partition", "spread")),
    InputCheck("spreadLevel", one_of("host", "rack")),
    REGION,
    TAGS,
)
