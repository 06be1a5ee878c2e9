"""Inputs that AWS, or the type of the SDK, refuses: path, value, what is allowed."""

import pytest

from rehearsal.providers.values import UNKNOWN, Properties, Secret
from tests.unit.rehearsal.providers.aws_mistakes import REFUSED
from tests.unit.rehearsal.providers.engine import FakeEngine, Refused
from tests.unit.rehearsal.providers.iam_mistakes import ROLE_POLICY


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
