"""Inputs that Hetzner Cloud, or the type of the SDK, refuses: path, value, what is allowed."""

import pytest

from rehearsal.providers.values import UNKNOWN, Properties, Secret
from tests.unit.rehearsal.providers.engine import FakeEngine, Refused
from tests.unit.rehearsal.providers.hcloud_mistakes import REFUSED, SERVER, server


@pytest.mark.parametrize("case", REFUSED)
def test_hcloud_refuses(case: str, hcloud: FakeEngine) -> None:
    type_, inputs, expected = REFUSED[case]
    assert expected in hcloud.refusal(type_, inputs)


def test_all_mistakes_of_a_resource_are_reported_at_once(hcloud: FakeEngine) -> None:
    sentences = hcloud.refusals(SERVER, server(location="x", image="y", backups=1, foo=2))
    assert len(sentences) == 4


def test_a_secret_value_is_never_quoted(hcloud: FakeEngine) -> None:
    inputs = server(userData=Secret("hunter2" * 5000), location=Secret("hunter2"))
    sentences = hcloud.refusals(SERVER, inputs)
    assert [sentence.split(",")[0] for sentence in sentences] == [
        "location is a secret value",
        "userData is a secret value",
    ]
    assert "hunter2" not in " ".join(sentences)


def test_an_unknown_value_passes(hcloud: FakeEngine) -> None:
    inputs = server(
        image=UNKNOWN,
        placementGroupId=UNKNOWN,
        firewallIds=[UNKNOWN],
        networks=[{"subnetId": UNKNOWN}],
        labels={"team": UNKNOWN},
    )
    assert hcloud.refusals(SERVER, inputs) == []


def test_a_number_may_come_as_the_text_that_ids_are(hcloud: FakeEngine) -> None:
    assert hcloud.refusals(SERVER, server(placementGroupId="12")) == []


def test_a_type_that_is_not_known_is_refused_by_name(hcloud: FakeEngine) -> None:
    sentence = hcloud.refusal("hcloud:index/volume:Volume", {"size": 10})
    assert sentence.startswith("hcloud:index/volume:Volume cannot be rehearsed")


def test_a_function_that_is_not_known_is_refused_by_name(hcloud: FakeEngine) -> None:
    with pytest.raises(Refused, match="getServers:getServers cannot be rehearsed"):
        hcloud.invoke("hcloud:index/getServers:getServers", {})


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({}, "token is missing, but the hcloud provider needs one."),
        ({"token": Secret("short")}, "token is a secret value of 5 characters, but"),
    ],
)
def test_a_provider_without_a_good_token_is_refused(
    config: Properties, sentence: str, hcloud: FakeEngine
) -> None:
    (found,) = hcloud.config_refusals("hcloud", config)
    assert sentence in found
