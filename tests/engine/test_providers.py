"""The real engine and the SDKs as they are, on the simulated clouds: one program as a story."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rehearsal.providers import cloud
from tests.engine.story import DEADLINE_S, PROGRAM, PROJECT, Ended, Stack
from toolchain.build import Tools


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
