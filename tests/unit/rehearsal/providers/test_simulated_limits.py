"""Refusals that depend on the objects of a simulated cloud, and its lookups."""

import base64

import pytest

from rehearsal.providers.values import Properties
from tests.support.rehearsal.provider_engine import FakeEngine, Made, Refused

SERVER = "hcloud:index/server:Server"
NETWORK = "hcloud:index/network:Network"
SUBNET = "hcloud:index/networkSubnet:NetworkSubnet"
GROUP = "hcloud:index/placementGroup:PlacementGroup"
PRIMARY_IP = "hcloud:index/primaryIp:PrimaryIp"
KEY = "hcloud:index/sshKey:SshKey"
OBJECT = "aws:s3/bucketObjectv2:BucketObjectv2"
GOOD_SERVER: Properties = {"serverType": "ccx33", "image": "ubuntu-24.04", "location": "hel1"}
PUBLIC_KEY = "ssh-ed25519 " + base64.b64encode(b"\0\0\0\x0bssh-ed25519" + b"k" * 36).decode()


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


def test_an_object_without_its_bucket_is_refused(aws: FakeEngine) -> None:
    with pytest.raises(Refused, match='bucket is "boot-data", but the account has no such bucket'):
        aws.created(OBJECT, {"bucket": "boot-data", "key": "k", "content": "x"})


def test_a_name_is_taken_once_in_a_project(hcloud: FakeEngine) -> None:
    hcloud.created(SERVER, {**GOOD_SERVER, "name": "cpu-1"})
    with pytest.raises(Refused, match='name is "cpu-1", which another Server of the account'):
        hcloud.created(SERVER, {**GOOD_SERVER, "name": "cpu-1"})


def test_a_key_is_taken_once_in_a_project(hcloud: FakeEngine) -> None:
    key = hcloud.created(KEY, {"name": "ops", "publicKey": PUBLIC_KEY})
    assert str(key.outputs["fingerprint"]).count(":") == 15
    with pytest.raises(Refused, match="publicKey is "):
        hcloud.created(KEY, {"name": "other", "publicKey": PUBLIC_KEY})


def test_a_placement_group_takes_ten_servers(hcloud: FakeEngine) -> None:
    group = hcloud.created(GROUP, {"type": "spread"})
    inputs: Properties = {**GOOD_SERVER, "placementGroupId": int(group.id)}
    for number in range(10):
        hcloud.created(SERVER, {**inputs, "name": f"cpu-{number}"})
    with pytest.raises(Refused, match="a group that has 10 servers already; 10 is the most"):
        hcloud.created(SERVER, {**inputs, "name": "cpu-10"})


def primary_ip(hcloud: FakeEngine) -> Made:
    return hcloud.created(
        PRIMARY_IP, {"type": "ipv4", "assigneeType": "server", "location": "hel1"}
    )


def test_a_primary_ip_outlives_the_server_that_has_it(hcloud: FakeEngine) -> None:
    address = primary_ip(hcloud)
    inputs: Properties = {**GOOD_SERVER, "publicNets": [{"ipv4": int(address.id)}]}
    first = hcloud.created(SERVER, {**inputs, "name": "gateway"})
    hcloud.delete(first)
    second = hcloud.created(SERVER, {**inputs, "name": "gateway"})
    assert first.outputs["ipv4Address"] == second.outputs["ipv4Address"]
    assert second.outputs["ipv4Address"] == address.outputs["ipAddress"]


def test_a_primary_ip_is_there_and_of_one_server_in_its_own_location(hcloud: FakeEngine) -> None:
    number = int(primary_ip(hcloud).id)
    inputs: Properties = {**GOOD_SERVER, "publicNets": [{"ipv4": number}]}
    hcloud.created(SERVER, {**inputs, "name": "gateway"})
    with pytest.raises(Refused, match=rf"ipv4 is {number}, which the server .* has"):
        hcloud.created(SERVER, {**inputs, "name": "other"})
    with pytest.raises(Refused, match="a primary IP in hel1, but the server is in fsn1"):
        hcloud.created(SERVER, {**inputs, "location": "fsn1"})
    with pytest.raises(Refused, match="ipv4 is 4711, but there is no such primary IP"):
        hcloud.created(SERVER, {**GOOD_SERVER, "publicNets": [{"ipv4": 4711}]})


def test_a_subnet_lies_in_its_network(hcloud: FakeEngine) -> None:
    network = hcloud.created(NETWORK, {"ipRange": "10.12.0.0/16"})
    inputs: Properties = {
        "networkId": int(network.id),
        "type": "cloud",
        "networkZone": "eu-central",
        "ipRange": "10.13.0.0/24",
    }
    sentence = "ipRange is 10.13.0.0/24, but it must lie in the network's range 10.12.0.0/16."
    assert hcloud.refusal(SUBNET, inputs) == sentence


def test_subnets_of_a_network_do_not_overlap(hcloud: FakeEngine) -> None:
    first = subnet(hcloud)
    with pytest.raises(Refused, match=r"which overlaps the subnet 10\.12\.0\.0/17"):
        hcloud.created(SUBNET, {**first.inputs, "ipRange": "10.12.1.0/24"})


def test_a_server_is_in_the_zone_of_its_subnet(hcloud: FakeEngine) -> None:
    place = subnet(hcloud, zone="us-east")
    with pytest.raises(Refused, match="but the server's location hel1 is in eu-central"):
        hcloud.created(SERVER, {**GOOD_SERVER, "networks": [{"subnetId": place.id}]})


def test_a_server_needs_a_subnet_in_its_network(hcloud: FakeEngine) -> None:
    network = hcloud.created(NETWORK, {"ipRange": "10.12.0.0/16"})
    with pytest.raises(Refused, match="a network without a subnet"):
        hcloud.created(SERVER, {**GOOD_SERVER, "networks": [{"networkId": int(network.id)}]})


def test_the_project_has_a_flatcar_snapshot_for_each_architecture(hcloud: FakeEngine) -> None:
    images = {
        architecture: hcloud.invoke(
            "hcloud:index/getImage:getImage",
            {
                "withSelector": "os=flatcar,flatcar=4593.2.5",
                "withArchitecture": architecture,
                "mostRecent": True,
            },
        )
        for architecture in ("x86", "arm")
    }
    assert images["x86"]["id"] != images["arm"]["id"]
    arm: Properties = {"serverType": "cax41", "image": str(images["arm"]["id"])}
    assert hcloud.refusals(SERVER, arm) == []


@pytest.mark.parametrize("selector", ["os=ubuntu", "flatcar=stable", "os in (flatcar)", None])
def test_no_other_image_is_found(selector: str | None, hcloud: FakeEngine) -> None:
    with pytest.raises(Refused, match="hcloud getImage: "):
        hcloud.invoke("hcloud:index/getImage:getImage", {"withSelector": selector})


def test_flatcar_is_found_among_the_amis(aws: FakeEngine) -> None:
    arguments: Properties = {
        "owners": ["075585003325"],
        "mostRecent": True,
        "filters": [{"name": "name", "values": ["Flatcar-stable-4593.2.5-hvm"]}],
    }
    assert str(aws.invoke("aws:ec2/getAmi:getAmi", arguments)["id"]).startswith("ami-")
    with pytest.raises(Refused, match="no AMI matches: owners must be"):
        aws.invoke("aws:ec2/getAmi:getAmi", {**arguments, "owners": ["self"]})
