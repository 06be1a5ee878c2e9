"""The real engine and the SDKs as they are, on the simulated clouds: one program as a story."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rehearsal.providers import cloud
from toolchain.build import Tools

DEADLINE_S = 120  # for a hanging command alone


PROJECT = """
name: story
runtime: python
config:
  pulumi:disable-default-providers: {value: [aws, hcloud, kubernetes]}
"""


PROGRAM = """
import json, os, pulumi, pulumi_aws as aws, pulumi_hcloud as hcloud
from pulumi import Output, ResourceOptions

mistake = os.environ.get("MISTAKE")
secret = pulumi.Config().require_secret("token")
hetzner = hcloud.Provider("hetzner", token="t" * 64)
amazon = aws.Provider("amazon", region="us-east-1")
on_hetzner, on_amazon = ResourceOptions(provider=hetzner), ResourceOptions(provider=amazon)

network = hcloud.Network("network", ip_range="10.12.0.0/16", opts=on_hetzner)
subnet = hcloud.NetworkSubnet("subnet", network_id=network.id.apply(int), type="cloud",
    network_zone="eu-central", ip_range="10.12.0.0/17", opts=on_hetzner)
image = hcloud.get_image_output(with_selector="os=flatcar,flatcar=4593.2.5",
    with_architecture="x86", opts=pulumi.InvokeOptions(provider=hetzner))
server = hcloud.Server("server", name="cpu-1", server_type="ccx33", image=image.id.apply(str),
    location="mars" if mistake == "location" else "hel1", user_data=Output.concat("token ", secret),
    networks=[hcloud.ServerNetworkArgs(subnet_id=subnet.id)],
    labels={"fleet.gpu/pool": "cpu"}, opts=on_hetzner)
bucket = aws.s3.Bucket("bucket", bucket="Boot" if mistake == "bucket" else None, opts=on_amazon)
aws.s3.BucketObjectv2("address", bucket=bucket.bucket, key="address",
    content=server.ipv4_address, opts=on_amazon)
elsewhere = aws.s3.Bucket("elsewhere", opts=ResourceOptions(
    provider=aws.Provider("europe", region="eu-west-1")))
role = aws.iam.Role("role", opts=on_amazon, assume_role_policy=json.dumps({"Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole",
        "Principal": {"Service": "ec2.amazonaws.com"}}]}))
pulumi.export("address", server.ipv4_address)
pulumi.export("private", server.networks[0].ip)
pulumi.export("arn", bucket.arn)
pulumi.export("regions", [bucket.bucket_region, elsewhere.bucket_region])
pulumi.export("image", aws.ec2.get_ami_output(owners=["075585003325"],
    filters=[aws.ec2.GetAmiFilterArgs(name="name", values=["Flatcar-stable-4593.2.5-hvm"])],
    opts=pulumi.InvokeOptions(provider=amazon)).id)
"""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A pulumi command that has ended."""

    code: int
    output: str
    events: list[dict[str, Any]]

    def steps(self) -> set[tuple[str, str]]:
        """What was done to which resource: (create, server)."""
        found = [event.get("resourcePreEvent", {}).get("metadata") for event in self.events]
        return {(step["op"], step["urn"].rpartition("::")[2]) for step in found if step}

    def new_properties(self, name: str) -> dict[str, Any]:
        """The inputs of a resource as the engine saw them."""
        for event in self.events:
            step = event.get("resourcePreEvent", {}).get("metadata", {})
            if step.get("urn", "").endswith(f"::{name}"):
                inputs: dict[str, Any] = step["new"]["inputs"]
                return inputs
        pytest.fail(f"{name} is not in the plan")


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A stack in a scratch project, whose engine is attached to the stand-ins."""

    program: Path
    project: Path
    rehearsal: Path
    environment: dict[str, str]

    def pulumi(self, *arguments: str, mistake: str = "") -> Ended:
        log = self.project / "events.jsonl"
        log.unlink(missing_ok=True)
        ended = subprocess.run(
            [self.program, *arguments, "--non-interactive"],
            cwd=self.project,
            env={**self.environment, "MISTAKE": mistake},
            capture_output=True,
            text=True,
            check=False,
            timeout=DEADLINE_S,
        )
        lines = log.read_text().splitlines() if log.exists() else []
        events = [json.loads(line) for line in lines]
        return Ended(code=ended.returncode, output=ended.stdout + ended.stderr, events=events)

    def run(self, *arguments: str, mistake: str = "") -> Ended:
        log = str(self.project / "events.jsonl")
        return self.pulumi(*arguments, "--event-log", log, mistake=mistake)

    def outputs(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.pulumi("stack", "output", "--json").output)
        return found

    def state(self) -> str:
        (path,) = (self.project / "state").glob(".pulumi/stacks/*/*.json")
        return path.read_text()

    def calls(self) -> list[dict[str, Any]]:
        lines = (self.rehearsal / "calls.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def providers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The provider process; its directory and what PULUMI_DEBUG_PROVIDERS is to say."""
    directory = tmp_path_factory.mktemp("rehearsal")
    command = [sys.executable, "-m", "rehearsal.providers", "--directory", str(directory)]
    process = subprocess.Popen(
        [*command, "--crds", str(directory / "crds")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    ports = json.loads(process.stdout.readline())
    assert set(ports) == {"hcloud", "aws", "kubernetes", "pulumi-python"}
    yield directory, ",".join(f"{name}:{port}" for name, port in ports.items())
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE_S) == 0


@pytest.fixture(scope="module")
def stack(
    tools: Tools, providers: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory
) -> Stack:
    project = tmp_path_factory.mktemp("project")
    (project / "Pulumi.yaml").write_text(PROJECT)
    (project / "__main__.py").write_text(PROGRAM)
    (project / "state").mkdir()
    directory, attached = providers
    environment = {
        **os.environ,
        **tools.environment(),
        "PULUMI_BACKEND_URL": f"file://{project / 'state'}",
        "PULUMI_HOME": str(project / "home"),
        "PULUMI_CONFIG_PASSPHRASE": "words of a test",
        "PULUMI_DEBUG_PROVIDERS": attached,
        "PULUMI_DEBUG_COMMANDS": "1",  # for --event-log
    }
    made = Stack(
        program=tools.path("pulumi"), project=project, rehearsal=directory, environment=environment
    )
    assert made.pulumi("stack", "init", "dev").code == 0
    assert made.pulumi("config", "set", "--secret", "token", "hunter2").code == 0
    return made


@pytest.fixture(scope="module")
def previewed(stack: Stack) -> Ended:
    return stack.run("preview")


@pytest.fixture(scope="module")
def up(stack: Stack, previewed: Ended) -> Ended:
    assert previewed.code == 0, previewed.output
    return stack.run("up", "--yes", "--skip-preview")


def test_a_preview_leaves_unknown_what_only_the_cloud_knows(stack: Stack, previewed: Ended) -> None:
    assert previewed.code == 0, previewed.output
    content = previewed.new_properties("address")["content"]
    assert content == "04da6b54-80e4-46f7-96ec-b56ff0331ba9", "a dependent must see an unknown"
    assert previewed.new_properties("server")["image"] == "459302050"
    assert not [
        call for call in stack.calls() if call["method"] == "Create" and not call["preview"]
    ]


def test_an_update_makes_everything(stack: Stack, up: Ended) -> None:
    assert up.code == 0, up.output
    outputs = stack.outputs()
    names = {"network", "subnet", "server", "bucket", "elsewhere", "address", "role"}
    held = {thing.name: thing for thing in cloud.read(stack.rehearsal)}
    assert set(held) == names
    assert outputs["address"] == held["server"].outputs["ipv4Address"]
    assert outputs["private"] == "10.12.0.2"
    assert outputs["arn"] == f"arn:aws:s3:::{held['bucket'].id}"
    assert outputs["image"].startswith("ami-")
    assert outputs["regions"] == ["us-east-1", "eu-west-1"], "each provider has its own region"
    url = f"s3://{held['bucket'].id}/address"
    assert cloud.fetch(stack.rehearsal, url).decode() == outputs["address"]


def test_a_secret_boots_the_server_and_is_not_in_the_state(stack: Stack, up: Ended) -> None:
    assert up.code == 0
    (server,) = [thing for thing in cloud.read(stack.rehearsal) if thing.name == "server"]
    assert server.inputs["userData"] == "token hunter2"
    assert "hunter2" not in stack.state()
    assert "hunter2" not in (stack.rehearsal / "calls.jsonl").read_text()


def test_a_second_update_changes_nothing(stack: Stack, up: Ended) -> None:
    assert up.code == 0
    again = stack.run("up", "--yes", "--expect-no-changes")
    assert again.code == 0, again.output


def test_a_refresh_finds_no_drift(stack: Stack, up: Ended) -> None:
    assert up.code == 0
    refreshed = stack.run("refresh", "--yes", "--expect-no-changes")
    assert refreshed.code == 0, refreshed.output


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        ("location", 'location is "mars", but it must be one of fsn1, nbg1, hel1, ash, hil, sin.'),
        ("bucket", 'bucket is "Boot", but it must have 3 to 63 lower-case letters'),
    ],
)
def test_a_mistake_is_a_sentence_in_the_preview(
    mistake: str, sentence: str, stack: Stack, up: Ended
) -> None:
    assert up.code == 0
    refused = stack.run("preview", mistake=mistake)
    assert refused.code != 0
    assert sentence in refused.output
    assert "Traceback" not in refused.output


def test_new_boot_data_replaces_the_server_and_the_old_one_goes_first(
    stack: Stack, up: Ended
) -> None:
    assert up.code == 0
    before = stack.outputs()["address"]
    assert stack.pulumi("config", "set", "--secret", "token", "correct").code == 0
    changed = stack.run("up", "--yes", "--skip-preview")
    assert changed.code == 0, changed.output
    assert ("replace", "server") in changed.steps()
    assert stack.outputs()["address"] != before


def test_everything_goes_again(stack: Stack, up: Ended) -> None:
    assert up.code == 0
    destroyed = stack.run("destroy", "--yes", "--skip-preview")
    assert destroyed.code == 0, destroyed.output
    assert cloud.read(stack.rehearsal) == []
