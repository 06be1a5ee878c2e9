"""The runbooks: what they tell to type exists, and shells understand it."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from settings import SECRETS, load, needed_secrets, stack_file
from tests.conftest import ROOT
from tests.support.environments import resources
from tests.support.recorder import named

RUNBOOKS = [*sorted((ROOT / "docs" / "runbooks").glob("*.md")), ROOT / "docs" / "taking-over.md"]
FIRST_UP = (ROOT / "docs" / "runbooks" / "first-up.md").read_text()


def commands(page: str) -> list[list[str]]:
    """The commands in the shell blocks of a page."""
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", page, re.MULTILINE | re.DOTALL)
    return [shlex.split(line) for block in blocks for line in block.splitlines() if line.strip()]


@pytest.mark.parametrize("path", RUNBOOKS, ids=lambda path: path.name)
def test_a_shell_understands_every_command(path: Path) -> None:
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", path.read_text(), re.MULTILINE | re.DOTALL)
    text = "\n".join(blocks)
    assert subprocess.run(["/bin/bash", "-n"], input=text, text=True, check=False).returncode == 0
    assert len(blocks) > 3


def test_every_secret_of_the_environment_is_set_before_it_is_needed() -> None:
    said = [
        words[-3].removeprefix("gpu-fleet:")
        for words in commands(FIRST_UP)
        if words[:4] == ["pulumi", "config", "set", "--secret"]
    ]
    assert {*said} <= {*SECRETS}
    needed = {*needed_secrets(load(stack_file(ROOT, "research")))}
    assert needed <= {*said}


def test_every_target_of_make_exists() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    said = [words[1] for words in commands(FIRST_UP) if words[0] == "make"]
    assert said == ["preview", "up"]
    assert {*said} <= {*targets}


def test_names_in_the_commands_are_those_that_the_program_gives() -> None:
    made = resources("research")
    (network,) = named(list(made), "Network").values()
    assert ["--network", network.inputs["name"]] in [words[-2:] for words in commands(FIRST_UP)]
    namespaces = {
        each.inputs["metadata"]["name"]  # type: ignore[index]  # an object's metadata
        for each in named(list(made), "Namespace").values()
    }
    assert "lakefs" in namespaces
    (secret,) = [words for words in commands(FIRST_UP) if "secret" in words and "tls" in words]
    prod = load(stack_file(ROOT, "prod")).lakefs
    assert prod is not None
    assert secret[:7] == [
        "kubectl",
        "--namespace",
        "lakefs",
        "create",
        "secret",
        "tls",
        prod.tls_secret,
    ]


def test_steps_stand_in_the_order_in_which_one_needs_the_other() -> None:
    order = [
        "kubeadm init",
        "baremetalhosts.metal3.io",
        "gpu-fleet:kubeconfig",
        "pulumi up --stack research --target",
        "attach-to-network",
        "stack output gateways",
        "51871/udp",
        "make up",
        "create secret tls",
    ]
    places = [FIRST_UP.index(text) for text in order]
    assert places == sorted(places)
