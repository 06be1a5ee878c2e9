"""Taking over what exists: names, ids and commands of the page are those of the program."""

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from fleet.cli.main import app
from fleet.validate.program import program
from policies.environment import load as load_environment
from settings import BareMetalPoolSettings, load, stack_file
from settings.stackfile import read
from tests.conftest import ROOT
from tests.support.environments import resources
from tests.support.recorder import named
from tests.unit.fleet.test_runbooks import commands

PAGE = (ROOT / "docs" / "taking-over.md").read_text()
TYPED = commands(PAGE)
TABLE = re.findall(r"^ *\| (`[a-z]+:.*?) \| (.*?) \|$", PAGE, re.MULTILINE)


def typed(*start: str) -> list[list[str]]:
    return [words for words in TYPED if words[: len(start)] == [*start]]


def test_the_bucket_is_the_one_that_the_program_names() -> None:
    (bucket,) = (
        made.inputs["bucket"]
        for made in named(list(resources("prod")), "Bucket").values()
        if made.name == "lakefs-store-bucket"
    )
    (copy,) = typed("aws", "s3", "sync")
    assert copy[-1] == f"s3://{bucket}"


def test_the_example_of_an_id_is_a_host_of_the_program() -> None:
    hosts = {
        f"{made.inputs['metadata']['namespace']}/{made.inputs['metadata']['name']}"  # type: ignore[index]  # an object's metadata
        for made in resources("prod")
        if made.type.endswith(":BareMetalHost")
    }
    kubernetes = next(id_ for type_, id_ in TABLE if type_ == "`kubernetes:…`")
    (example,) = re.findall(r"`(metal3-\S+)`", kubernetes)
    assert example in hosts


def test_every_type_of_the_table_is_one_that_the_program_makes() -> None:
    made = {each.type for each in resources("prod")}
    types = [name for types, _ in TABLE for name in re.findall(r"`([\w:./]+)`", types)]
    assert len(types) == 3
    assert {*types} <= made


def test_an_imported_host_keeps_its_image_and_is_protected() -> None:
    host = next(each for each in resources("prod") if each.type.endswith(":BareMetalHost"))
    assert "never changes the image of a host that is there" in " ".join(PAGE.split())
    assert host.ignore_changes == ("spec.image",)
    assert host.protect


def test_what_is_imported_is_what_the_preview_wrote_and_the_filter_kept() -> None:
    (preview,) = typed("pulumi", "preview")
    (filtered,) = typed("jq")
    (imported,) = typed("pulumi", "import")
    written = preview[preview.index("--import-file") + 1]
    assert filtered[2] == written
    assert imported[imported.index("--file") + 1] == filtered[-1]
    order = [PAGE.index(text) for text in ("stack init", "--target", "--import-file", "jq ")]
    assert order == sorted(order)


def test_the_machines_and_pools_are_those_of_prod() -> None:
    dgx = load(stack_file(ROOT, "prod")).pools["dgx"].declared
    assert isinstance(dgx, BareMetalPoolSettings)
    names = {machine.name for machine in dgx.machines}
    for words in (*typed("fleet", "reinstall"), *typed("kubectl", "drain")):
        assert {word for word in words if word.startswith("dgx-")} <= names


@pytest.mark.parametrize("words", typed("fleet"), ids=shlex.join)
def test_each_command_of_ours_can_be_read(words: list[str]) -> None:
    command: Any = typer.main.get_command(app)
    command.commands[words[1]].make_context(words[1], words[2:])


def test_the_name_of_a_server_is_one_of_the_program() -> None:
    servers = {made.inputs["name"] for made in named(list(resources("prod")), "Server").values()}
    assert {*re.findall(r"`(fleet-prod-\S+)`", PAGE)} <= servers


def test_repositories_are_adopted_as_the_page_says(tmp_path: Path) -> None:
    (words,) = typed("pulumi", "config", "set")
    *_, place, value = words
    section, _, key = place.partition(".")
    document, _lines = read(stack_file(ROOT, "prod"))
    document["config"][section][key] = yaml.safe_load(value)
    shutil.copy(ROOT / "stacks" / "prod-dgx.csv", tmp_path)
    path = tmp_path / "Pulumi.prod.yaml"
    path.write_text(yaml.safe_dump(document))
    flags = {
        each.resource.name: each.wire["adopt"]
        for each in program(load_environment(path)).resources
        if "adopt" in each.wire
    }
    assert {"lakefs-ticks-repository", "lakefs-ticks-check", "lakefs-ticks-gc"} <= set(flags)
    assert set(flags.values()) == {True}
