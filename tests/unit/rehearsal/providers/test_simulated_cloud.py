"""Names, outputs, changes and stored objects of good inputs in a simulated cloud."""

import base64
import hashlib
import json
import stat
from pathlib import Path

import pytest

from rehearsal.providers import cloud
from rehearsal.providers.values import UNKNOWN, Properties, Secret
from tests.support.rehearsal.provider_engine import FakeEngine, Made, Refused

SERVER = "hcloud:index/server:Server"
NETWORK = "hcloud:index/network:Network"
SUBNET = "hcloud:index/networkSubnet:NetworkSubnet"
GROUP = "hcloud:index/placementGroup:PlacementGroup"
USER = "aws:iam/user:User"
ACCESS_KEY = "aws:iam/accessKey:AccessKey"
BUCKET = "aws:s3/bucket:Bucket"
OBJECT = "aws:s3/bucketObjectv2:BucketObjectv2"
ROLE = "aws:iam/role:Role"
GOOD_SERVER: Properties = {"serverType": "ccx33", "image": "ubuntu-24.04", "location": "hel1"}
TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": "*"}],
    }
)


def subnet(hcloud: FakeEngine, zone: str = "eu-central") -> Made:
    network = hcloud.created(NETWORK, {"ipRange": "10.12.0.0/16"})
    return hcloud.created(
        SUBNET,
        {
            "networkId": int(network.id),
            "type": "cloud",
            "networkZone": zone,
            "ipRange": "10.12.0.0/17",
        },
    )


def test_an_unnamed_resource_gets_its_own_name_and_digits(hcloud: FakeEngine) -> None:
    inputs = hcloud.checked(GROUP, {"type": "spread"})
    name = str(inputs["name"])
    assert name.startswith("it-")
    assert len(name) == len("it-") + 7
    assert inputs["__defaults"] == ["name"]


def test_an_unnamed_resource_keeps_its_name(hcloud: FakeEngine) -> None:
    first = hcloud.checked(GROUP, {"type": "spread"})
    again = hcloud.checked(GROUP, {"type": "spread", "labels": {"a": "b"}}, old=first)
    assert again["name"] == first["name"]


def test_an_unnamed_bucket_is_named_in_lower_case(aws: FakeEngine) -> None:
    name = str(aws.checked(BUCKET, {})["bucket"])
    assert name == name.lower()


def test_a_preview_knows_the_inputs_and_not_the_ids(hcloud: FakeEngine) -> None:
    inputs: Properties = {**GOOD_SERVER, "name": "cpu-1", "networks": [{"subnetId": UNKNOWN}]}
    outputs = hcloud.previewed(SERVER, inputs)
    assert outputs["serverType"] == "ccx33"
    assert outputs["backups"] is False
    unknown = {key for key, value in outputs.items() if value == UNKNOWN}
    assert {"ipv4Address", "ipv6Address", "status", "primaryDiskSize"} <= unknown
    assert outputs["networks"] == [
        dict.fromkeys(("aliasIps", "ip", "macAddress", "networkId", "subnetId"), UNKNOWN)
    ]


def test_an_update_makes_nothing_that_is_gone(hcloud: FakeEngine) -> None:
    inputs: Properties = {"ipRange": "10.12.0.0/16"}
    made = hcloud.created(NETWORK, inputs)
    hcloud.delete(made)
    with pytest.raises(Refused, match="the resource did not exist while updating it"):
        hcloud.updated(made, inputs)
    assert cloud.read(hcloud.directory) == []


def test_a_preview_of_a_bucket_knows_its_name_and_tags_and_not_its_arn(aws: FakeEngine) -> None:
    outputs = aws.previewed(BUCKET, {"bucket": "boot-data", "tags": {"pool": "burst"}})
    assert outputs["bucket"] == "boot-data"
    assert outputs["tagsAll"] == {"team": "fleet", "pool": "burst"}
    assert outputs["region"] == "us-east-1"
    assert outputs["arn"] == UNKNOWN


def test_a_preview_makes_nothing(hcloud: FakeEngine) -> None:
    hcloud.previewed(SERVER, GOOD_SERVER)
    assert cloud.read(hcloud.directory) == []


def test_a_server_gets_addresses_and_stands_in_its_subnet(hcloud: FakeEngine) -> None:
    place = subnet(hcloud)
    inputs: Properties = {**GOOD_SERVER, "networks": [{"subnetId": place.id}]}
    servers = [
        hcloud.created(SERVER, {**inputs, "name": f"cpu-{number}"}).outputs for number in (1, 2)
    ]
    assert len({str(outputs["ipv4Address"]) for outputs in servers}) == 2
    assert [_private(outputs) for outputs in servers] == ["10.12.0.2", "10.12.0.3"]
    assert place.outputs["gateway"] == "10.12.0.1"


def test_a_changed_server_keeps_its_addresses(hcloud: FakeEngine) -> None:
    place = subnet(hcloud)
    inputs: Properties = {**GOOD_SERVER, "name": "cpu-1", "networks": [{"subnetId": place.id}]}
    made = hcloud.created(SERVER, inputs)
    changed = hcloud.updated(made, {**inputs, "labels": {"pool": "cpu"}})
    assert _private(changed) == _private(made.outputs)
    assert changed["ipv4Address"] == made.outputs["ipv4Address"]
    assert changed["labels"] == {"pool": "cpu"}


def _private(outputs: Properties) -> object:
    match outputs["networks"]:
        case [{"ip": ip}]:
            return ip
        case other:
            return other


def test_the_state_has_a_digest_in_place_of_user_data(hcloud: FakeEngine) -> None:
    made = hcloud.created(SERVER, {**GOOD_SERVER, "userData": Secret("join token")})
    digest = base64.b64encode(hashlib.sha1(b"join token", usedforsecurity=False).digest())
    assert made.outputs["userData"] == Secret(digest.decode())


def test_what_boots_a_server_is_in_the_cloud_in_clear(hcloud: FakeEngine) -> None:
    hcloud.created(SERVER, {**GOOD_SERVER, "userData": Secret("join token")}, name="cpu-1")
    (thing,) = cloud.read(hcloud.directory)
    assert (thing.type, thing.name, thing.inputs["userData"]) == (SERVER, "cpu-1", "join token")


def test_only_its_owner_can_read_the_cloud(hcloud: FakeEngine) -> None:
    hcloud.created(SERVER, GOOD_SERVER)
    mode = (hcloud.directory / "cloud.json").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


def test_a_cloud_outlives_its_process(hcloud: FakeEngine) -> None:
    made = hcloud.created(NETWORK, {"ipRange": "10.12.0.0/16"})
    again = cloud.Cloud(hcloud.directory)
    assert again.get(NETWORK, made.id)
    assert again.next_number() > int(made.id)


def test_an_object_in_s3_can_be_fetched(aws: FakeEngine) -> None:
    aws.created(BUCKET, {"bucket": "boot-data"})
    aws.created(OBJECT, {"bucket": "boot-data", "key": "a/join.ign", "content": Secret("{}")})
    assert cloud.fetch(aws.directory, "s3://boot-data/a/join.ign") == b"{}"


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("s3://boot-data/other", "s3://boot-data/other is not in the simulated S3."),
        ("https://boot-data/k", "is not of the form s3://bucket/key."),
    ],
)
def test_what_is_not_in_s3_is_a_sentence(url: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(KeyError) as error:
        cloud.fetch(tmp_path, url)
    assert sentence in error.value.args[0]


@pytest.mark.parametrize(
    ("change", "replaces"),
    [
        ({"userData": "new"}, ["userData"]),
        ({"image": "debian-13"}, ["image"]),
        ({"location": "fsn1"}, ["location"]),
        ({"serverType": "ccx43"}, []),
        ({"name": "cpu-2"}, []),
    ],
)
def test_some_changes_replace_a_server(
    change: Properties, replaces: list[str], hcloud: FakeEngine
) -> None:
    inputs: Properties = {**GOOD_SERVER, "name": "cpu-1", "userData": "old"}
    answer = hcloud.diff(hcloud.created(SERVER, inputs), {**inputs, **change})
    assert list(answer.diffs) == list(change)
    assert list(answer.replaces) == replaces
    assert answer.deleteBeforeReplace is bool(replaces)


def test_a_replacement_with_a_new_name_comes_before_the_old_one_goes(hcloud: FakeEngine) -> None:
    made = hcloud.created(SERVER, {**GOOD_SERVER, "userData": "old"})
    answer = hcloud.diff(made, {**GOOD_SERVER, "userData": "new"})
    assert list(answer.replaces) == ["userData"]
    assert not answer.deleteBeforeReplace


def test_the_same_inputs_are_no_change(aws: FakeEngine) -> None:
    inputs: Properties = {"assumeRolePolicy": TRUST, "tags": {"a": "b"}, "description": None}
    answer = aws.diff(aws.created(ROLE, inputs), inputs)
    assert answer.changes == answer.DIFF_NONE


def test_a_refresh_finds_what_was_made(aws: FakeEngine) -> None:
    made = aws.created(ROLE, {"assumeRolePolicy": Secret(TRUST), "name": "node"})
    assert aws.read(made) == made


def test_a_refresh_misses_what_is_gone(hcloud: FakeEngine) -> None:
    made = hcloud.created(NETWORK, {"ipRange": "10.12.0.0/16"})
    hcloud.delete(made)
    hcloud.delete(made)
    assert hcloud.read(made) is None


def test_a_user_has_two_access_keys_at_most(aws: FakeEngine) -> None:
    user = aws.created(USER, {"name": "karpenter"})
    first, second = (aws.created(ACCESS_KEY, {"user": user.id}) for _ in range(2))
    assert first.id.startswith("AKIA")
    assert first.outputs["secret"] != second.outputs["secret"]
    with pytest.raises(Refused, match='user is "karpenter", which has two access keys already'):
        aws.created(ACCESS_KEY, {"user": user.id})


def test_an_access_key_without_its_user_is_refused(aws: FakeEngine) -> None:
    with pytest.raises(Refused, match='user is "nobody", but the account has no such user'):
        aws.created(ACCESS_KEY, {"user": "nobody"})
