"""Inputs that AWS, or the type of the SDK, refuses: path, value, what is allowed."""

import json

import pytest

from rehearsal.providers.values import UNKNOWN, Properties, Secret
from tests.support.rehearsal.provider_engine import FakeEngine, Refused

BUCKET_POLICY = "aws:s3/bucketPolicy:BucketPolicy"
ROLE = "aws:iam/role:Role"
ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
ATTACHMENT = "aws:iam/userPolicyAttachment:UserPolicyAttachment"


def policy(**statement: object) -> str:
    given = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::b/*"}
    kept = {key: value for key, value in {**given, **statement}.items() if value is not None}
    return json.dumps({"Version": "2012-10-17", "Statement": [kept]})


def trust(**statement: object) -> str:
    given = {"Action": "sts:AssumeRole", "Resource": None, "Principal": {"AWS": "*"}}
    return policy(**{**given, **statement})


REFUSED_BY_IAM: dict[str, tuple[str, Properties, str]] = {
    "a missing property": (
        ROLE_POLICY,
        {"policy": policy()},
        "role is missing, but RolePolicy needs it: a string.",
    ),
    "a string for a number": (
        ROLE,
        {"assumeRolePolicy": trust(), "maxSessionDuration": "1h"},
        'maxSessionDuration is "1h", but it must be a whole number.',
    ),
    "a policy that is no JSON": (
        ROLE_POLICY,
        {"role": "node", "policy": "{'Version'}"},
        "but it must be an IAM policy in JSON (Expecting property name",
    ),
    "a policy that is too long for a user": (
        "aws:iam/userPolicy:UserPolicy",
        {"user": "lakefs", "policy": policy(Resource=f"arn:aws:s3:::{'b' * 2048}")},
        "but it must have at most 2048 characters and has",
    ),
    "a policy of another version": (
        ROLE_POLICY,
        {"role": "node", "policy": '{"Version": "2020-01-01", "Statement": []}'},
        'but its Version must be "2012-10-17".',
    ),
    "a statement with a wrong effect": (
        ROLE_POLICY,
        {"role": "node", "policy": policy(Effect="Permit")},
        'but each statement must have the Effect "Allow" or "Deny".',
    ),
    "a statement with a misspelt key": (
        ROLE_POLICY,
        {"role": "node", "policy": policy(Actions="s3:*")},
        "but each statement must have known keys alone, and Actions is none.",
    ),
    "an action that is none": (
        ROLE_POLICY,
        {"role": "node", "policy": policy(Action="GetObject")},
        'must name actions such as s3:GetObject, and "GetObject" is none.',
    ),
    "a resource that is no ARN": (
        ROLE_POLICY,
        {"role": "node", "policy": policy(Resource="boot-data/*")},
        'must name resources by ARN, and "boot-data/*" is none.',
    ),
    "an identity policy with a principal": (
        ROLE_POLICY,
        {"role": "node", "policy": policy(Principal="*")},
        "must not have Principal: this kind of policy is attached to it.",
    ),
    "a bucket policy without principal": (
        BUCKET_POLICY,
        {"bucket": "boot-data", "policy": policy()},
        "but each statement must have Principal.",
    ),
    "a trust policy with a resource": (
        ROLE,
        {"assumeRolePolicy": trust(Resource="*")},
        "but each statement must not have Resource",
    ),
    "an inline policy that is too long": (
        ROLE_POLICY,
        {"role": "node", "policy": policy(Sid="x" * 10240)},
        "but it must have at most 10240 characters and has",
    ),
    "an ARN that is none": (
        ATTACHMENT,
        {"user": "node", "policyArn": "AmazonSSMManagedInstanceCore"},
        'policyArn is "AmazonSSMManagedInstanceCore", but it must be an ARN.',
    ),
    "a role name with a slash": (
        ROLE,
        {"name": "fleet/node", "assumeRolePolicy": trust()},
        'name is "fleet/node", but it must be 1 to 64 letters, digits',
    ),
    "a session that is too short": (
        ROLE,
        {"assumeRolePolicy": trust(), "maxSessionDuration": 60},
        "maxSessionDuration is 60, but it must be from 3600 to 43200.",
    ),
}

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
    **REFUSED_BY_IAM,
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


@pytest.mark.parametrize("case", REFUSED)
def test_aws_refuses(case: str, aws: FakeEngine) -> None:
    type_, inputs, expected = REFUSED[case]
    assert expected in aws.refusal(type_, inputs)


def test_a_secret_policy_is_never_quoted(aws: FakeEngine) -> None:
    sentence = aws.refusal(ROLE_POLICY, {"role": "node", "policy": Secret("hunter2")})
    assert sentence.startswith("policy is a secret value, but it must be an IAM policy in JSON")
    assert "hunter2" not in sentence


def test_an_unknown_value_passes(aws: FakeEngine) -> None:
    inputs: Properties = {"role": UNKNOWN, "policy": UNKNOWN}
    assert aws.refusals(ROLE_POLICY, inputs) == []


@pytest.mark.parametrize(
    ("type_", "hint"),
    [
        (
            "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
            "the nearest is UserPolicyAttachment",
        ),
        ("aws:ec2/launchTemplate:LaunchTemplate", "known are AccessKey, Bucket, "),
    ],
)
def test_an_unknown_type_is_refused_with_a_hint(type_: str, hint: str, aws: FakeEngine) -> None:
    sentence = aws.refusal(type_, {})
    assert sentence.startswith(f"{type_} cannot be rehearsed: ")
    assert hint in sentence


def test_a_function_that_is_not_known_is_refused_by_name(aws: FakeEngine) -> None:
    with pytest.raises(Refused, match="getBucket:getBucket cannot be rehearsed"):
        aws.invoke("aws:s3/getBucket:getBucket", {"bucket": "b"})


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({}, "region is missing, but aws needs one."),
        ({"region": "moon-1"}, 'region is "moon-1", but it must be one of us-east-1'),
    ],
)
def test_a_provider_without_a_good_region_is_refused(
    config: Properties, sentence: str, aws: FakeEngine
) -> None:
    (found,) = aws.config_refusals("aws", config)
    assert sentence in found
