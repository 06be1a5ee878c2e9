"""`fleet envs`: what a checkout has, also where a stack file has mistakes or a twin is kept."""

import json
import os
import shutil
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from fleet.cli import envs
from fleet.cli.main import app
from fleet.environments import read
from tests.conftest import ROOT


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with two environments, of which prod's file has a mistake."""
    stacks = tmp_path / "stacks"
    stacks.mkdir()
    for name in ("Pulumi.dev.yaml", "Pulumi.prod.yaml", "prod-dgx.csv"):
        shutil.copy(ROOT / "stacks" / name, stacks)
    prod = stacks / "Pulumi.prod.yaml"
    prod.write_text(prod.read_text().replace("kind: hetzner", "kind: hetzer"))
    monkeypatch.setattr(envs, "ROOT", tmp_path)
    return tmp_path


def keep(checkout: Path, name: str) -> None:
    """Leave what a kept rehearsal leaves, with this process as its only one."""
    folder = checkout / ".rehearsal" / name
    (folder / "processes").mkdir(parents=True)
    (folder / "kept").touch()
    started = psutil.Process().create_time()
    record = {"name": "etcd", "pid": os.getpid(), "started": started}
    (folder / "processes" / "etcd-1.json").write_text(json.dumps(record))


def shown(*words: str) -> str:
    asked = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["envs", *words])
    assert asked.exit_code == 0, asked.stderr
    return asked.stdout


def test_each_pool_has_its_nodes_and_gpus_and_one_on_demand_the_most(checkout: Path) -> None:
    rows = [line.split() for line in shown().splitlines()]
    rented = ["burst", "aws", "us-east-1", "p5e.48xlarge", "up", "to", "2", "up", "to", "16"]
    assert ["dev", *rented] in rows
    assert ["dgx", "bare-metal", "fra", "dgx-h200", "2", "16"] in rows
    assert ["cpu", "hetzner", "hel1", "ccx33", "3", "0"] in rows
    assert max(map(len, shown().splitlines())) <= 80


def test_a_stack_file_with_mistakes_is_told_and_hides_no_other(checkout: Path) -> None:
    assert "in its stack file (fleet validate prod)" in shown()
    (_, prod) = json.loads(shown("--json"))
    assert prod["pools"] == []
    assert any("hetzer" in mistake for mistake in prod["mistakes"])


def test_the_json_has_the_sums_of_what_is_always_on_and_may_be_rented(checkout: Path) -> None:
    dev, _ = json.loads(shown("--json"))
    on_demand = {pool["name"]: pool["on_demand"] for pool in dev["pools"]}
    assert on_demand == {"dgx": False, "burst": True, "cpu": False}
    assert (dev["name"], dev["nodes"], dev["gpus"], dev["most_gpus"]) == ("dev", 5, 16, 32)


def test_a_kept_rehearsal_is_told_while_it_runs(checkout: Path) -> None:
    assert not any(each.kept for each in read(checkout))
    keep(checkout, "dev")
    assert [each.kept for each in read(checkout)] == [True, False]
    assert "dev: a rehearsal is kept running (fleet rehearse-stop dev ends it)" in shown()
    (checkout / ".rehearsal" / "dev" / "processes" / "etcd-1.json").unlink()
    assert not any(each.kept for each in read(checkout))


def test_a_checkout_without_environments_says_how_to_make_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(envs, "ROOT", tmp_path)
    asked = CliRunner().invoke(app, ["envs"])
    assert asked.exit_code == 2
    assert "`fleet init NAME` writes one" in asked.stderr
