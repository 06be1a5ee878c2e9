"""What `fleet resume` and `fleet destroy` hear from the simulated clouds."""

import json
from pathlib import Path
from typing import Any

import pytest

from fleet.destroy.left import at_hetzner
from fleet.resume.clouds import Clouds
from rehearsal.cloud_apis import ACCESS_KEY, PORTS, SECURITY_GROUP, aws, served
from rehearsal.errors import RehearsalError
from rehearsal.providers import cloud
from rehearsal.providers.__main__ import served as providers
from rehearsal.providers.cloud import Cloud, CloudObject
from settings.names import CLUSTER_LABEL, SERVER


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Two servers of two clusters, and two keys of two users."""
    held = Cloud(tmp_path)
    for number, cluster in enumerate(("fleet-dev", "fleet-prod"), 1):
        labels = {CLUSTER_LABEL: cluster}
        server: dict[str, Any] = {"name": f"{cluster}-cpu-1", "labels": labels}
        put(held, "hcloud", SERVER, str(number), server)
        put(held, "aws", ACCESS_KEY, f"AKIA{number}", {"user": f"{cluster}-lakefs"})
    return tmp_path


def put(held: Cloud, provider: str, type_: str, id_: str, inputs: dict[str, Any]) -> None:
    thing = CloudObject(provider=provider, type=type_, id=id_, name="x", inputs={}, outputs={})
    thing.inputs.update(inputs)
    thing.outputs.update(inputs)
    held.put(thing)


def test_hetzner_answers_by_name_and_by_label(directory: Path) -> None:
    with served(directory) as api:
        clouds = Clouds(resources=(), token=lambda: "token", kubeconfig=str, hetzner=api)
        assert clouds.named_at_hetzner("servers", "fleet-prod-cpu-1") == ("2",)
        assert clouds.named_at_hetzner("servers", "fleet-prod-cpu-2") == ()
        left = {each.kind: each.names for each in at_hetzner("fleet-dev", "token", api)}
    assert left["servers at Hetzner"] == ("fleet-dev-cpu-1",)
    assert left["volumes at Hetzner"] == ()


def test_a_key_is_deleted_where_its_provider_has_it(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with providers(directory, directory, {}) as ports:
        (directory / PORTS).write_text(json.dumps(ports))
        clouds = Clouds(resources=(), token=lambda: None, kubeconfig=str, aws=aws(directory))
        clouds.delete_access_key("fleet-dev-lakefs", "AKIA1")
    assert [each.id for each in cloud.read(directory) if each.type == ACCESS_KEY] == ["AKIA2"]


def test_aws_finds_a_security_group_by_name_in_its_vpc_and_region(directory: Path) -> None:
    held = Cloud(directory)
    for number, vpc in enumerate(("vpc-a", "vpc-b"), 1):
        group: dict[str, Any] = {"name": "burst-efa", "vpcId": vpc, "region": "us-east-1"}
        put(held, "aws", SECURITY_GROUP, f"sg-{number}", group)
    clouds = Clouds(resources=(), token=lambda: None, kubeconfig=str, aws=aws(directory))
    assert clouds.security_groups("us-east-1", "vpc-b", "burst-efa") == ("sg-2",)
    assert clouds.security_groups("us-east-1", "vpc-b", "other") == ()
    assert clouds.security_groups("us-east-1", "vpc-c", "burst-efa") == ()
    assert clouds.security_groups("eu-west-1", "vpc-b", "burst-efa") == ()


def test_aws_tells_a_users_keys_and_the_account_and_refuses_the_rest(directory: Path) -> None:
    clouds = Clouds(resources=(), token=lambda: None, kubeconfig=str, aws=aws(directory))
    assert [*clouds.access_keys("fleet-dev-lakefs")] == ["AKIA1"]
    assert clouds.account.partition == "aws"
    with pytest.raises(RehearsalError, match="`aws ec2 describe-instances` cannot be rehearsed"):
        clouds.aws(("ec2", "describe-instances"))
