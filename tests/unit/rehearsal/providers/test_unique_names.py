"""Which names the simulated account gives once, and where a second request gets the first's."""

import json

import pytest

from rehearsal.providers.values import Properties
from tests.support.rehearsal.provider_engine import FakeEngine, Refused

QUEUE = "aws:sqs/queue:Queue"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
VPC = "aws:ec2/vpc:Vpc"
PROFILE = "aws:iam/instanceProfile:InstanceProfile"
RULE = "aws:cloudwatch/eventRule:EventRule"
BUCKET = "aws:s3/bucket:Bucket"
BLOCK = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": "*"}],
}
MAY = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "pricing:GetProducts", "Resource": "*"}],
}
ONCE: dict[str, tuple[str, Properties]] = {
    "a user": ("aws:iam/user:User", {"name": "Ops"}),
    "a role": ("aws:iam/role:Role", {"name": "Ops", "assumeRolePolicy": json.dumps(TRUST)}),
    "a policy": ("aws:iam/policy:Policy", {"name": "Ops", "policy": json.dumps(MAY)}),
}


def doubled(engine: FakeEngine, type_: str, first: Properties, second: Properties) -> str:
    """Why the account refuses the second of two objects; empty where it makes it."""
    engine.created(type_, first, "first")
    try:
        engine.created(type_, second, "second")
    except Refused as error:
        return str(error)
    return ""


@pytest.mark.parametrize("case", ONCE)
def test_iam_gives_a_name_once_whatever_its_case_and_path(aws: FakeEngine, case: str) -> None:
    type_, inputs = ONCE[case]
    second: Properties = {**inputs, "name": "ops", "path": "/fleet/"}
    assert 'name is "ops", which another' in doubled(aws, type_, inputs, second)


def test_an_instance_profile_has_its_name_alone_as_it_is_written(aws: FakeEngine) -> None:
    """Of its case alone AWS documents nothing."""
    assert not doubled(aws, PROFILE, {"name": "Ops"}, {"name": "ops"})
    second: Properties = {"name": "Ops", "path": "/fleet/"}
    with pytest.raises(Refused, match='name is "Ops", which another InstanceProfile'):
        aws.created(PROFILE, second, "third")


def test_a_bucket_is_there_once(aws: FakeEngine) -> None:
    assert "which another Bucket" in doubled(aws, BUCKET, {"bucket": "data"}, {"bucket": "data"})


def test_the_same_queue_is_made_once_and_both_have_its_url(aws: FakeEngine) -> None:
    inputs: Properties = {"name": "warnings", "messageRetentionSeconds": 300}
    first = aws.created(QUEUE, inputs, "first")
    second = aws.created(QUEUE, {**inputs, "tags": {"team": "fleet"}}, "second")
    assert second.id == first.id


def test_a_queue_with_another_attribute_is_refused(aws: FakeEngine) -> None:
    first: Properties = {"name": "warnings", "messageRetentionSeconds": 300}
    second: Properties = {"name": "warnings"}  # the default is four days
    assert 'name is "warnings", which another Queue' in doubled(aws, QUEUE, first, second)


def test_queues_of_two_regions_may_share_a_name(aws: FakeEngine) -> None:
    first: Properties = {"name": "warnings", "messageRetentionSeconds": 300}
    second: Properties = {"name": "warnings", "region": "eu-west-1"}
    assert not doubled(aws, QUEUE, first, second)


def test_a_security_group_has_its_name_alone_in_its_vpc(aws: FakeEngine) -> None:
    one, other = (aws.created(VPC, {"cidrBlock": "10.0.0.0/16"}, name) for name in ("one", "two"))
    aws.created(GROUP, {"name": "machines", "vpcId": one.id}, "first")
    aws.created(GROUP, {"name": "machines", "vpcId": other.id}, "elsewhere")
    with pytest.raises(Refused, match='name is "Machines", which another SecurityGroup'):
        aws.created(GROUP, {"name": "Machines", "vpcId": one.id}, "second")
    aws.created(GROUP, {"name": "machines"}, "in the default VPC")
    with pytest.raises(Refused, match='name is "machines", which another SecurityGroup'):
        aws.created(GROUP, {"name": "machines"}, "again")


def test_what_aws_writes_over_is_refused_nowhere(aws: FakeEngine) -> None:
    pattern = json.dumps({"source": ["aws.ec2"]})
    rule: Properties = {"name": "spot", "eventPattern": pattern}
    assert not doubled(aws, RULE, rule, {**rule, "description": "the same rule"})
    aws.created(BUCKET, {"bucket": "data"})
    assert not doubled(aws, BLOCK, {"bucket": "data"}, {"bucket": "data"})
