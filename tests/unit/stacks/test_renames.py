"""Renamed pools, teams and sites: the program registers what it registered before."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml

from policies.environment import load
from stacks.compose import compose
from tests.conftest import ROOT
from tests.support.environments import ENVIRONMENTS, SECRETS
from tests.support.recorder import Registered, render
from tests.support.renames import rename

Change = Callable[[dict[str, Any]], None]


def registered(folder: Path, environment: str, change: Change) -> dict[tuple[str, str], Registered]:
    """What the program registers with a changed stack file, by type and name."""
    for inventory in (ROOT / "stacks").glob("*.csv"):
        shutil.copy(inventory, folder)
    file = f"Pulumi.{environment}.yaml"
    document = yaml.safe_load((ROOT / "stacks" / file).read_text())
    change(document["config"])
    changed = folder / file
    changed.write_text(yaml.safe_dump(document))  # in the order of the new names, as Pulumi does
    found = load(changed)

    def program() -> None:
        secrets = {name: pulumi.Output.secret(value) for name, value in SECRETS.items()}
        compose(found, secrets)

    return {(each.type, each.name): each for each in render(program)}


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_a_rename_that_keeps_the_ids_registers_the_same_resources(
    environment: str, tmp_path: Path
) -> None:
    before = registered(tmp_path, environment, lambda _config: None)
    after = registered(tmp_path, environment, rename)
    assert set(after) == set(before)
    changed = {key for key, each in after.items() if each.inputs != before[key].inputs}
    assert changed == set()


def test_a_rename_without_the_id_is_another_pool(tmp_path: Path) -> None:
    """What the first test would not notice if the names were taken from the file."""
    names = {name for _, name in registered(tmp_path, "prod", partial(rename, keep_ids=False))}
    assert "h200-dgx-01" in names
    assert "dgx-dgx-01" not in names
