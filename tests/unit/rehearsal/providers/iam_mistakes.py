"""Wrong inputs of AWS IAM, each with the refusal."""

import json

from rehearsal.providers.values import Properties

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


REFUSED: dict[str, tuple[str, Properties, str]] = {
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
