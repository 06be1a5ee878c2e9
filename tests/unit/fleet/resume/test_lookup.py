"""Under which id a resource that was being made would be in its cloud."""

import ast
import inspect
import json
import pkgutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pulumi import CustomResource, ProviderResource

import components
import stacks
from fleet.resume.clouds import AskError, Clouds
from fleet.resume.lookup import BY_TYPE, KUBERNETES, LAKEFS, REPEATABLE, look_up
from fleet.resume.pending import Answer, Pending
from tests.support.environments import resources
from tests.support.hetzner import project

URN = "urn:pulumi:dev::gpu-fleet::"
KILLED = datetime(2026, 11, 23, 18, 0, tzinfo=UTC)
PROVIDER = f"{URN}pulumi:providers:aws::aws-burst"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
ARN = "arn:aws:iam::123456789012:user/karpenter"
PROVIDERS = {"urn": PROVIDER, "type": "pulumi:providers:aws", "inputs": {"region": "us-east-1"}}
USER = {"urn": f"{URN}aws:iam/user:User::u", "type": "aws:iam/user:User", "outputs": {"arn": ARN}}


def begun(type_: str, **inputs: Any) -> Pending:
    resource = {"urn": f"{URN}{type_}::thing", "type": type_, "custom": True, "inputs": inputs}
    resource["provider"] = f"{PROVIDER}::1a2b"
    return Pending(operation="creating", resource=resource, written=KILLED)


def clouds(*there: dict[str, Any], **given: Any) -> Clouds:
    asking: dict[str, Any] = {"token": lambda: "token", "kubeconfig": str, "aws": nobody, **given}
    return Clouds(resources=there, **asking)


def nobody(words: Sequence[str]) -> dict[str, Any]:
    raise AskError(f"ask with `aws {' '.join(words)}`")


KNOWN = (KUBERNETES, LAKEFS, *REPEATABLE, "gpu:", "pulumi:")
CLOUDS = ("pulumi_aws", "pulumi_hcloud")


def made(module: ModuleType) -> Iterator[str]:
    """The classes of clouds' resources that the module's functions make."""
    for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text())):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)):
                found = getattr(vars(module).get(owner), name, None)
            case ast.Call(func=ast.Name(id=name)):
                found = vars(module).get(name)
            case _:
                continue
        if not (inspect.isclass(found) and issubclass(found, CustomResource)):
            continue
        if found.__module__.startswith(CLOUDS) and not issubclass(found, ProviderResource):
            yield found.__name__


@pytest.mark.parametrize("environment", ["dev", "prod", "research"])
def test_every_type_of_an_environment_can_be_looked_up(environment: str) -> None:
    types = {each.type for each in resources(environment)}
    assert {each for each in types if not each.startswith(KNOWN)} <= {*BY_TYPE}


def test_every_type_of_a_cloud_that_any_setting_makes_can_be_looked_up() -> None:
    names: tuple[str, ...] = ()
    for package in (components, stacks):
        found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        names += tuple(each.name for each in found if not each.name.endswith("__main__"))
    classes = {name for each in names for name in made(import_module(each))}
    assert "SecurityGroup" in classes, "it is there with EFA alone"
    assert classes <= {each.rpartition(":")[2] for each in BY_TYPE}


@pytest.mark.parametrize(
    ("type_", "inputs", "id_"),
    [
        (
            "kubernetes:core/v1:Secret",
            {"metadata": {"namespace": "lakefs", "name": "lakefs"}},
            "lakefs/lakefs",
        ),
        ("kubernetes:core/v1:Namespace", {"metadata": {"name": "lakefs"}}, "lakefs"),
        ("aws:s3/bucket:Bucket", {"bucket": "fleet-dev-boot"}, "fleet-dev-boot"),
        ("aws:iam/rolePolicy:RolePolicy", {"role": "nodes", "name": "boot"}, "nodes:boot"),
        (
            "aws:iam/policy:Policy",
            {"name": "fleet-dev-karpenter", "path": "/"},
            "arn:aws:iam::123456789012:policy/fleet-dev-karpenter",
        ),
        (
            "aws:sqs/queue:Queue",
            {"name": "fleet-dev"},
            "https://sqs.us-east-1.amazonaws.com/123456789012/fleet-dev",
        ),
        (
            "hcloud:index/networkSubnet:NetworkSubnet",
            {"networkId": 4711, "ipRange": "10.0.0.0/24"},
            "4711-10.0.0.0/24",
        ),
        (
            "hcloud:index/networkRoute:NetworkRoute",
            {"networkId": 4711.0, "destination": "0.0.0.0/0"},
            "4711-0.0.0.0/0",
        ),
        (
            "pulumi-python:dynamic/lakefs:Repository",
            {"name": "market-data", "storage_namespace": "s3://x"},
            "market-data",
        ),
    ],
)
def test_an_id_follows_from_names(type_: str, inputs: dict[str, Any], id_: str) -> None:
    assert look_up(begun(type_, **inputs), clouds(PROVIDERS, USER)) == Answer(ids=(id_,))


def test_a_wait_in_the_cluster_is_done_again() -> None:
    waiting = begun("pulumi-python:dynamic/kube:NodeReady", nodes=["a"])
    assert look_up(waiting, clouds()) == Answer()


def test_hetzner_is_asked_by_name_whatever_proxy_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with project({"servers": {"cpu-1": {}}}) as api:
        found = look_up(begun("hcloud:index/server:Server", name="cpu-1"), clouds(hetzner=api))
        none = look_up(begun("hcloud:index/server:Server", name="cpu-2"), clouds(hetzner=api))
    assert (found, none) == (Answer(ids=("1",)), Answer())


def test_a_security_group_is_asked_for_by_name_and_vpc() -> None:
    asked: list[str] = []

    def aws(words: Sequence[str]) -> dict[str, Any]:
        asked.extend(words)
        return {"SecurityGroups": [{"GroupId": "sg-0a1b"}]}

    group = begun(GROUP, name="fleet-dev-burst-efa", vpcId="vpc-0c2d")
    assert look_up(group, clouds(PROVIDERS, aws=aws)) == Answer(ids=("sg-0a1b",))
    *command, filters, option, region = asked
    assert (command, option, region) == (
        ["ec2", "describe-security-groups", "--filters"],
        "--region",
        "us-east-1",
    )
    assert {each["Name"]: each["Values"] for each in json.loads(filters)} == {
        "group-name": ["fleet-dev-burst-efa"],
        "vpc-id": ["vpc-0c2d"],
    }


def test_an_access_key_of_that_time_that_nobody_knows_is_to_be_deleted() -> None:
    """Its secret was told to the engine that died; other keys may be in somebody's use."""
    known = {"urn": f"{URN}aws:iam/accessKey:AccessKey::k", "type": "aws", "id": "AKIAKNOWN"}
    made = {
        "AKIAKNOWN": "2026-11-23T18:00:01Z",
        "AKIALOST": "2026-11-23T17:59:30+00:00",
        "AKIABYHAND": "2026-11-23T17:58:00+00:00",
    }
    keys = [{"AccessKeyId": key, "CreateDate": when} for key, when in made.items()]
    asked = clouds(known, aws=lambda _words: {"AccessKeyMetadata": keys})
    found = look_up(begun("aws:iam/accessKey:AccessKey", user="fleet-dev-lakefs"), asked)
    assert found == Answer(ids=("AKIALOST",), useless=True, others=("AKIABYHAND",))


@pytest.mark.parametrize(
    ("type_", "inputs", "told"),
    [
        ("aws:ec2/vpc:Vpc", {}, "look into its cloud"),
        ("aws:s3/bucket:Bucket", {"bucket": {"ciphertext": "x"}}, "does not tell its bucket"),
        (GROUP, {"name": "efa", "vpcId": "vpc-1"}, "ask with `aws ec2 describe-security-groups"),
        ("aws:s3/bucket:Bucket", {"bucket": True}, "does not tell its bucket"),
        ("aws:iam/policy:Policy", {"name": "a"}, "ask with `aws sts get-caller-identity`"),
        ("aws:iam/accessKey:AccessKey", {"user": "u"}, "ask with `aws iam list-access-keys"),
        ("hcloud:index/primaryIp:PrimaryIp", {"name": "gw"}, "hcloud primary-ip describe gw"),
    ],
)
def test_what_cannot_be_looked_up_says_who_can(
    type_: str, inputs: dict[str, Any], told: str
) -> None:
    with pytest.raises(AskError, match=told):
        look_up(begun(type_, **inputs), clouds(token=lambda: None))


def test_an_account_is_that_of_the_state_or_of_the_login() -> None:
    aws = {"Arn": "arn:aws-cn:sts::210987654321:assumed-role/up/me"}
    asked = clouds(aws=lambda _words: aws)
    assert (asked.account.partition, asked.account.account) == ("aws-cn", "210987654321")
    assert clouds(USER).account.account == "123456789012"
