"""Requests and answers in the forms of AWS."""

from rehearsal.karpenter import wire
from rehearsal.karpenter.wire import AwsError


def test_parameters_with_numbers_are_lists_in_their_order() -> None:
    body = "Action=A&Tag.2.Key=b&Tag.1.Key=a&Filter.1.Value.1=x&Filter.1.Value.10=z&Name="

    assert wire.parse(body) == {
        "Action": "A",
        "Tag": [{"Key": "a"}, {"Key": "b"}],
        "Filter": [{"Value": ["x", "z"]}],
        "Name": "",
    }


def test_an_answer_of_ec2_has_items_and_leaves_out_what_is_not() -> None:
    answer = {"tagSet": [{"key": "a", "value": "<b>"}], "spot": None, "isDefault": True}

    assert wire.ec2_answer("Do", answer) == (
        "<DoResponse><tagSet><item><key>a</key><value>&lt;b&gt;</value></item></tagSet>"
        "<isDefault>true</isDefault></DoResponse>"
    )


def test_an_answer_of_iam_has_members_in_a_result() -> None:
    assert wire.iam_answer("Do", {"Roles": [{"Name": "a"}]}) == (
        "<DoResponse><DoResult><Roles><member><Name>a</Name></member></Roles></DoResult></DoResponse>"
    )


def test_errors_have_a_code_and_a_sentence() -> None:
    error = AwsError("NoSuchEntity", "Instance Profile x & y cannot be found.")

    assert "<Code>NoSuchEntity</Code>" in wire.ec2_error(error)
    assert "<Message>Instance Profile x &amp; y cannot be found.</Message>" in wire.iam_error(error)
