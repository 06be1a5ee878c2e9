"""The image of a pool on AWS: the search, and the errors when it finds none."""

import pytest

from components.pools.boot import PoolError
from tests.support.components.aws_pools import pool, spec
from tests.support.recorder import invoked, render


def test_the_image_is_searched_at_flatcars_own_account() -> None:
    node_class = spec(render(pool()), "EC2NodeClass")
    assert node_class["amiFamily"] == "Custom"
    terms = [{"name": "Flatcar-stable-4593.2.5-hvm", "owner": "075585003325"}]
    assert node_class["amiSelectorTerms"] == terms


def test_preview_asks_whether_the_image_is_still_published() -> None:
    ((token, arguments),) = invoked(pool())
    assert token == "aws:ec2/getAmi:getAmi"
    assert arguments["owners"] == ["075585003325"]
    assert arguments["filters"] == [
        {"name": "name", "values": ["Flatcar-stable-4593.2.5-hvm"]},
        {"name": "architecture", "values": ["x86_64"]},
    ]


@pytest.mark.parametrize(
    "words",
    [
        "Your query returned no results. Please change your search criteria and try again.",
        "aws ec2.getAmi: no AMI matches: the filter name must be such as Flatcar-stable-1-hvm.",
    ],
)
def test_an_image_that_is_gone_is_one_sentence_with_the_way_out(words: str) -> None:
    with pytest.raises(PoolError) as caught:
        render(pool(), not_found="aws:ec2/getAmi:getAmi", because=words)
    assert str(caught.value).startswith(
        "pool pool: the image Flatcar-stable-4593.2.5-hvm was not found; Flatcar unpublishes an "
        "image after nine months, so raise gpu-fleet:versions.flatcar ("
    )
    assert words in str(caught.value), "the cloud's own words"


def test_an_unreachable_aws_is_not_reported_as_a_missing_image() -> None:
    words = "No valid credential sources found.\nfailed to refresh cached credentials"
    with pytest.raises(PoolError) as caught:
        render(pool(), not_found="aws:ec2/getAmi:getAmi", because=words)
    sentence = str(caught.value)
    assert sentence.startswith(
        "pool pool: AWS could not be asked for the image Flatcar-stable-4593.2.5-hvm; check the "
        "AWS credentials, the network and the region of its site ("
    )
    assert "No valid credential sources found. failed to refresh" in sentence
    assert "versions.flatcar" not in sentence
