"""A program on the simulated clouds, and a stack of it in a scratch project."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

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
