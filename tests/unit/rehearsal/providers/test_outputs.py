"""One resource of each type that the simulated clouds know, made in order of dependence."""

import base64
import json

import pytest

from rehearsal.providers import sdk_types
from rehearsal.providers.aws.resource_types import TYPES as AWS
from rehearsal.providers.hcloud.resource_types import TYPES as HCLOUD
from rehearsal.providers.simulated_type import SimulatedType
from rehearsal.providers.values import UNKNOWN, Properties, Unknown
from tests.support.rehearsal.provider_engine import FakeEngine, Made

PUBLIC_KEY = "ssh-ed25519 " + base64.b64encode(b"\0\0\0\x0bssh-ed25519" + b"k" * 36).decode()
STATEMENT = {"Effect": "Allow", "Action": "*"}


def policy(**statement: str) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [{**STATEMENT, **statement}]})


TRUST = policy(Principal="*")
IDENTITY = policy(Resource="*")
OPEN = policy(Principal="*", Resource="*")

# In place of an id, {} names the resource that has it.
HCLOUD_EXAMPLES: dict[str, Properties] = {
    "Network": {"ipRange": "10.0.0.0/16"},
    "NetworkSubnet": {
        "networkId": "{Network}",
        "type": "cloud",
        "networkZone": "eu-central",
        "ipRange": "10.0.1.0/24",
    },
    "NetworkRoute": {
        "networkId": "{Network}",
        "destination": "10.9.0.0/16",
        "gateway": "10.0.1.2",
    },
    "Firewall": {},
    "PlacementGroup": {"type": "spread"},
    "SshKey": {"publicKey": PUBLIC_KEY},
    "PrimaryIp": {"type": "ipv4", "assigneeType": "server", "location": "hel1"},
    "Server": {
        "serverType": "ccx33",
        "image": "ubuntu-24.04",
        "location": "hel1",
        "publicNets": [{"ipv4": "{PrimaryIp}"}],
        "networks": [{"subnetId": "{NetworkSubnet}"}],
    },
    "ServerNetwork": {"serverId": "{Server}", "networkId": "{Network}"},
    "LoadBalancer": {"loadBalancerType": "lb11", "networkZone": "eu-central"},
    "LoadBalancerNetwork": {"loadBalancerId": "{LoadBalancer}", "subnetId": "{NetworkSubnet}"},
    "LoadBalancerService": {"loadBalancerId": "{LoadBalancer}", "protocol": "http"},
    "LoadBalancerTarget": {
        "loadBalancerId": "{LoadBalancer}",
        "type": "server",
        "serverId": "{Server}",
    },
}
AWS_EXAMPLES: dict[str, Properties] = {
    "Bucket": {"bucket": "boot-data"},
    "BucketPublicAccessBlock": {"bucket": "{Bucket}"},
    "BucketServerSideEncryptionConfiguration": {
        "bucket": "{Bucket}",
        "rules": [{"applyServerSideEncryptionByDefault": {"sseAlgorithm": "AES256"}}],
    },
    "BucketOwnershipControls": {
        "bucket": "{Bucket}",
        "rule": {"objectOwnership": "BucketOwnerEnforced"},
    },
    "BucketPolicy": {"bucket": "{Bucket}", "policy": OPEN},
    "BucketVersioning": {
        "bucket": "{Bucket}",
        "versioningConfiguration": {"status": "Enabled"},
    },
    "BucketLifecycleConfiguration": {
        "bucket": "{Bucket}",
        "rules": [{"id": "old", "status": "Enabled", "expiration": {"days": 30}}],
    },
    "BucketObjectv2": {"bucket": "{Bucket}", "key": "join.ign", "content": "{}"},
    "Role": {"assumeRolePolicy": TRUST},
    "RolePolicy": {"role": "{Role}", "policy": IDENTITY},
    "Policy": {"policy": IDENTITY},
    "InstanceProfile": {"role": "{Role}"},
    "User": {},
    "UserPolicy": {"user": "{User}", "policy": IDENTITY},
    "UserPolicyAttachment": {"user": "{User}", "policyArn": "{Policy}"},
    "AccessKey": {"user": "{User}"},
    "Queue": {},
    "QueuePolicy": {"queueUrl": "{Queue}", "policy": OPEN},
    "EventRule": {"scheduleExpression": "rate(5 minutes)"},
    "EventTarget": {"rule": "{EventRule}", "arn": "arn:aws:sqs:us-east-1:123456789012:q"},
    "Vpc": {"cidrBlock": "10.0.0.0/16"},
    "Subnet": {"vpcId": "{Vpc}", "cidrBlock": "10.0.1.0/24"},
    "SecurityGroup": {},
    "PlacementGroup": {"strategy": "cluster"},
}


def with_ids(inputs: Properties, ids: dict[str, str]) -> Properties:
    text = json.dumps(inputs)
    for name, id_ in ids.items():
        text = text.replace(f'"{{{name}}}"', json.dumps(id_))
    filled: Properties = json.loads(text)
    return filled


def make_all(
    engine: FakeEngine, types: tuple[SimulatedType, ...], examples: dict[str, Properties]
) -> dict[str, Made]:
    made: dict[str, Made] = {}
    tokens = {simulated.name: simulated.token for simulated in types}
    for name, inputs in examples.items():
        ids = {other: thing.id for other, thing in made.items()}
        made[name] = engine.created(tokens[name], with_ids(inputs, ids))
    return made


@pytest.fixture
def hcloud_made(hcloud: FakeEngine) -> dict[str, Made]:
    return make_all(hcloud, HCLOUD, HCLOUD_EXAMPLES)


@pytest.fixture
def aws_made(aws: FakeEngine) -> dict[str, Made]:
    return make_all(aws, AWS, AWS_EXAMPLES)


@pytest.mark.parametrize(("cloud", "types"), [("hcloud", HCLOUD), ("aws", AWS)])
def test_whatever_a_preview_leaves_unknown_is_known_after_creation(
    cloud: str, types: tuple[SimulatedType, ...], request: pytest.FixtureRequest
) -> None:
    made: dict[str, Made] = request.getfixturevalue(f"{cloud}_made")
    assert set(made) == {simulated.name for simulated in types}
    for simulated in types:
        outputs = made[simulated.name].outputs
        assert simulated.unknown_outputs() - set(outputs) == set(), simulated.name
        assert not any(isinstance(value, Unknown) for value in outputs.values()), simulated.name


@pytest.mark.parametrize(("cloud", "types"), [("hcloud", HCLOUD), ("aws", AWS)])
def test_every_output_is_one_of_the_sdks(
    cloud: str, types: tuple[SimulatedType, ...], request: pytest.FixtureRequest
) -> None:
    made: dict[str, Made] = request.getfixturevalue(f"{cloud}_made")
    for simulated in types:
        known = sdk_types.output_names(simulated.module, simulated.name)
        assert set(made[simulated.name].outputs) - known == set(), simulated.name


@pytest.mark.parametrize("cloud", ["hcloud", "aws"])
def test_every_resource_is_stable_and_goes_again(
    cloud: str, request: pytest.FixtureRequest
) -> None:
    engine: FakeEngine = request.getfixturevalue(cloud)
    made: dict[str, Made] = request.getfixturevalue(f"{cloud}_made")
    for name, thing in made.items():
        assert engine.read(thing) == thing, name
        assert engine.updated(thing, thing.inputs) == thing.outputs, name
    for name, thing in reversed(made.items()):
        engine.delete(thing)
        assert engine.read(thing) is None, name


def test_a_preview_of_a_change_keeps_what_is_known_of_the_server(
    hcloud: FakeEngine, hcloud_made: dict[str, Made]
) -> None:
    server = hcloud_made["Server"]
    changed: Properties = {**server.inputs, "labels": {"image": UNKNOWN}}
    outputs = hcloud.updated(server, changed, preview=True)
    assert outputs["ipv4Address"] == server.outputs["ipv4Address"]
    assert outputs["labels"] == {"image": UNKNOWN}
