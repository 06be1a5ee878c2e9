"""Fleets as EC2 launches them: once for each client token, from capacity that is there."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from rehearsal.karpenter import account, instances, launch
from rehearsal.karpenter.describe import Describe
from rehearsal.karpenter.instances import BOOT_S, TERMINATE_S, Instances
from rehearsal.karpenter.launch import Launcher, sell_out
from rehearsal.karpenter.wire import Answer, AwsError
from settings import load, stack_file
from tests.conftest import ROOT

USER_DATA = '{"ignition": {"version": "3.4.0"}}'
RESERVATION = f"cr-{1:017x}"


@pytest.fixture
def ec2(tmp_path: Path) -> Launcher:
    profile = {"type": launch.PROFILE, "inputs": {"name": "node"}, "outputs": {}}
    whole = {**profile, "provider": "aws", "id": "node", "name": "node"}
    (tmp_path / "cloud.json").write_text(json.dumps([whole]))
    assert account.write(tmp_path, load(stack_file(ROOT, "dev")))
    return opened(tmp_path)


def opened(directory: Path) -> Launcher:
    """EC2 as a new process finds it."""
    found, kept = account.read(directory), Instances(directory)
    assert found
    ask = Describe(account=found, directory=directory, instances=kept)
    return Launcher(account=found, directory=directory, instances=kept, describe=ask)


def template(ec2: Launcher, name: str, **data: Any) -> str:
    encoded = base64.b64encode(USER_DATA.encode()).decode()
    cards = [{"InterfaceType": "interface", "SecurityGroupId": ["sg-1"]}]
    whole = {
        "UserData": encoded,
        "ImageId": "ami-1",
        "IamInstanceProfile": {"Name": "node"},
        "NetworkInterface": cards,
        **data,
    }
    ec2.create_launch_template({"LaunchTemplateName": name, "LaunchTemplateData": whole})
    return name


def fleet(name: str, *zones: str, token: str = "token-1", machines: int = 1) -> dict[str, Any]:  # noqa: S107  # a client token is no secret
    return {
        "ClientToken": token,
        "LaunchTemplateConfigs": [
            {
                "LaunchTemplateSpecification": {"LaunchTemplateName": name},
                "Overrides": [
                    {"InstanceType": "p5e.48xlarge", "AvailabilityZone": zone} for zone in zones
                ],
            }
        ],
        "TargetCapacitySpecification": {
            "DefaultTargetCapacityType": "on-demand",
            "TotalTargetCapacity": str(machines),
        },
        "TagSpecification": [
            {"ResourceType": "instance", "Tag": [{"Key": "Name", "Value": "burst"}]}
        ],
    }


def ids(answer: Answer) -> list[str]:
    return [id_ for each in answer["fleetInstanceSet"] for id_ in each["instanceIds"]]


def test_a_fleet_launches_machines_with_their_user_data_and_tags(
    ec2: Launcher, tmp_path: Path
) -> None:
    answer = ec2.create_fleet(fleet(template(ec2, "a"), "us-east-1b", machines=2))

    first, second = instances.read(tmp_path)
    assert ids(answer) == [first.id, second.id]
    assert first.tags == {"Name": "burst"}
    assert first.zone == "us-east-1b"
    assert first.address != second.address
    assert instances.user_data(tmp_path, first) == USER_DATA


def test_the_same_client_token_launches_nothing_again(ec2: Launcher, tmp_path: Path) -> None:
    asked = fleet(template(ec2, "a"), "us-east-1b")

    first = ec2.create_fleet(asked)
    again = opened(tmp_path).create_fleet(asked)

    assert ids(again) == ids(first)
    assert len(instances.read(tmp_path)) == 1


def test_a_client_token_of_another_request_is_refused(ec2: Launcher, tmp_path: Path) -> None:
    name = template(ec2, "a")
    ec2.create_fleet(fleet(name, "us-east-1b"))

    with pytest.raises(AwsError) as refused:
        ec2.create_fleet(fleet(name, "us-east-1a"))

    assert refused.value.code == "IdempotentParameterMismatch"
    assert len(instances.read(tmp_path)) == 1


def test_what_is_sold_out_is_an_error_and_the_next_offer_is_taken(
    ec2: Launcher, tmp_path: Path
) -> None:
    sell_out(tmp_path, [{"type": "p5e.48xlarge", "zone": "us-east-1a"}])

    answer = ec2.create_fleet(fleet(template(ec2, "a"), "us-east-1a", "us-east-1b"))

    (error,) = answer["errorSet"]
    assert error["errorCode"] == "InsufficientInstanceCapacity"
    assert "us-east-1a" in error["errorMessage"]
    (made,) = instances.read(tmp_path)
    assert made.zone == "us-east-1b"


def test_a_reservation_gives_as_many_machines_as_it_has(ec2: Launcher, tmp_path: Path) -> None:
    chosen = {"CapacityReservationTarget": {"CapacityReservationId": RESERVATION}}
    name = template(ec2, "a", CapacityReservationSpecification=chosen)

    answer = ec2.create_fleet(fleet(name, "us-east-1b", machines=2))
    later = ec2.create_fleet(fleet(name, "us-east-1b", token="token-2"))

    (made,) = instances.read(tmp_path)
    assert ids(answer) == [made.id]
    assert [each["errorCode"] for each in answer["errorSet"]] == ["ReservationCapacityExceeded"]
    assert made.capacity == "reserved"
    assert later["errorSet"][0]["errorCode"] == "ReservationCapacityExceeded"
    ec2.terminate_instances({"InstanceId": [made.id]})
    (free,) = ec2.describe.capacity_reservations({})["capacityReservationSet"]
    assert free["availableInstanceCount"] == 0, "a machine that shuts down still has its place"


def test_a_reservation_that_nobody_has_gives_no_machine(ec2: Launcher, tmp_path: Path) -> None:
    chosen = {"CapacityReservationTarget": {"CapacityReservationId": "cr-0"}}
    name = template(ec2, "a", CapacityReservationSpecification=chosen)

    with pytest.raises(AwsError, match="'cr-0' does not exist"):
        ec2.create_fleet(fleet(name, "us-east-1b"))

    assert instances.read(tmp_path) == []


def test_states_follow_from_the_time(ec2: Launcher, tmp_path: Path) -> None:
    ec2.create_fleet(fleet(template(ec2, "a"), "us-east-1b"))
    (made,) = instances.read(tmp_path)

    assert made.state(made.launched) == "pending"
    assert made.state(made.launched + BOOT_S) == "running"

    ec2.terminate_instances({"InstanceId": [made.id]})
    (ended,) = instances.read(tmp_path)
    assert ended.ended is not None
    assert ended.state(ended.ended) == "shutting-down"
    assert ended.state(ended.ended + TERMINATE_S) == "terminated"
    assert instances.alive(tmp_path) == []


def test_a_machine_that_never_was_cannot_be_ended(ec2: Launcher) -> None:
    with pytest.raises(AwsError) as refused:
        ec2.terminate_instances({"InstanceId": ["i-0"]})

    assert refused.value.code == "InvalidInstanceID.NotFound"


def test_user_data_of_more_than_ec2_takes_is_refused(ec2: Launcher) -> None:
    large = base64.b64encode(b"x" * 16385).decode()

    with pytest.raises(AwsError) as refused:
        template(ec2, "a", UserData=large)

    assert refused.value.code == "InvalidUserData.Malformed"


def test_a_machine_needs_an_instance_profile_that_is_there(ec2: Launcher) -> None:
    name = template(ec2, "a", IamInstanceProfile={"Name": "gone"})

    with pytest.raises(AwsError, match="Invalid IAM Instance Profile"):
        ec2.create_fleet(fleet(name, "us-east-1b"))


def test_instances_are_found_by_tag_and_state(ec2: Launcher) -> None:
    made = ids(ec2.create_fleet(fleet(template(ec2, "a"), "us-east-1b")))
    ec2.create_tags({"ResourceId": made, "Tag": [{"Key": "karpenter.sh/nodepool", "Value": "b"}]})
    alive = {"Name": "instance-state-name", "Value": ["pending", "running"]}

    def found(*filters: dict[str, Any]) -> list[str]:
        sets = ec2.describe.instances_({"Filter": [*filters, alive]})["reservationSet"]
        return [each["instancesSet"][0]["instanceId"] for each in sets]

    assert found({"Name": "tag-key", "Value": ["karpenter.sh/nodepool"]}) == made
    assert found({"Name": "tag:karpenter.sh/nodepool", "Value": ["other"]}) == []
    ec2.terminate_instances({"InstanceId": made})
    assert found() == []
