"""`fleet validate`: settings and rules of a stack file, without an engine."""

import json
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from fleet.cli import validate as verb
from fleet.cli.main import app
from fleet.validate.judging import Validated, validate
from fleet.validate.program import program
from policies.environment import load
from settings import stack_file
from settings.stackfile import read
from tests.conftest import ROOT
from tests.support.environments import ENVIRONMENTS, resources

TODAY = date(2026, 11, 22)


def dev(**sections: object) -> dict[str, Any]:
    """The keys of dev, some of them changed, or changed within by a mapping."""
    document, _lines = read(stack_file(ROOT, "dev"))
    keys: dict[str, Any] = document["config"]
    for section, change in sections.items():
        keys[f"gpu-fleet:{section}"] = change
    return keys


def written(folder: Path, keys: dict[str, Any]) -> Path:
    path = folder / "Pulumi.dev.yaml"
    path.write_text(yaml.safe_dump({"config": keys}, sort_keys=False, width=1000))
    return path


def line(path: Path, text: str) -> int:
    return path.read_text().splitlines().index(text) + 1


def judged(path: Path) -> Validated:
    return validate(path, TODAY)


@cache
def shipped(name: str) -> Validated:
    return judged(stack_file(ROOT, name))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_environments_of_this_repository_are_valid(name: str) -> None:
    found = shipped(name)
    assert (found.mistakes, found.broken) == ((), ())
    assert found.rules > 40
    assert found.resources > 200


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_rules_see_every_resource_that_the_program_registers(name: str) -> None:
    seen = program(load(stack_file(ROOT, name))).resources
    registered = resources(name, preview=True)
    kinds = sorted((each.type.rpartition(":")[2], each.name) for each in registered)
    assert sorted((each.resource.kind, each.resource.name) for each in seen) == kinds


def test_a_rule_broken_by_a_setting_names_file_line_and_rule(tmp_path: Path) -> None:
    keys = dev()
    keys["gpu-fleet:policies"]["idle/gpu-node-pool"] = {"max_consolidate_after_minutes": 5}
    path = written(tmp_path, keys)
    found = judged(path)
    assert not found.holds
    assert found.mistakes == ()
    key = line(path, "      consolidate_after_minutes: 10")
    place = f"{path}:{key}: idle/gpu-node-pool: NodePool"
    assert len(found.broken) == 2, "reserved and spot"
    assert all(each.startswith(place) and " 5m" in each for each in found.broken)


def test_a_finding_about_a_key_that_is_not_written_stands_at_its_pool(tmp_path: Path) -> None:
    keys = dev()
    assert "reserved_until" not in keys["gpu-fleet:pools"]["burst"]
    path = written(tmp_path, keys)
    (found,) = [each for each in judged(path).warnings if "cost/capacity-block: " in each]
    assert found.startswith(f"{path}:{line(path, '    burst:')}: ")


def test_a_pool_that_was_renamed_is_found_by_its_name_in_the_file(tmp_path: Path) -> None:
    keys = dev()
    keys["gpu-fleet:policies"]["idle/gpu-node-pool"] = {"max_consolidate_after_minutes": 5}
    pools = keys["gpu-fleet:pools"]
    pools["rented"] = {**pools.pop("burst"), "was": "burst"}
    keys["gpu-fleet:teams"]["research"]["queues"]["research-burst"]["pool"] = "rented"
    path = written(tmp_path, keys)
    place = f"{path}:{line(path, '      consolidate_after_minutes: 10')}: "
    assert {each.startswith(place) for each in judged(path).broken} == {True}


def test_the_budget_is_judged_without_a_preview(tmp_path: Path) -> None:
    found = judged(written(tmp_path, dev(budget={"usd_per_day": 1})))
    assert [each for each in found.broken if "cost/daily-budget: " in each]


def test_an_exemption_that_has_ended_is_told_with_its_line(tmp_path: Path) -> None:
    keys = dev()
    until = {"resource": "NodePool/x", "owner": "o", "reason": "r", "until": "2026-11-21"}
    keys["gpu-fleet:policies"]["idle/gpu-node-pool"] = {"exemptions": [until]}
    path = written(tmp_path, keys)
    (broken,) = judged(path).broken
    assert broken.startswith(f"{path}:{line(path, '      exemptions:')}: idle/gpu-node-pool: ")
    assert " ended on 2026-11-21 " in broken


def test_mistakes_of_settings_come_first_and_alone(tmp_path: Path) -> None:
    keys = dev()
    keys["gpu-fleet:pools"]["cpu"]["nodes"] = "three"
    path = written(tmp_path, keys)
    found = judged(path)
    (mistake,) = found.mistakes
    place = f"{path}:{line(path, '      nodes: three')}: gpu-fleet:pools.cpu.nodes"
    assert mistake == f'{place} is "three"; allowed: a whole number from 1 to 100.'
    assert found.rules == 0


def test_rules_that_wait_for_a_cloud_are_named() -> None:
    assert "isolation/clear-secrets" in shipped("dev").waiting


def test_the_secrets_it_makes_up_are_in_no_sentence() -> None:
    assert "postgres://" not in json.dumps(shipped("dev").as_json())


def test_a_warning_has_its_line_and_stops_nothing(tmp_path: Path) -> None:
    keys = dev()
    keys["gpu-fleet:sites"]["fra"]["cidr"] = "8.8.0.0/16"
    path = written(tmp_path, keys)
    begin = f"{path}:{line(path, '      cidr: 8.8.0.0/16')}: gpu-fleet:sites.fra.cidr is "
    found = judged(path)
    assert found.holds
    assert len([each for each in found.warnings if each.startswith(begin)]) == 1


def run(*words: str) -> Any:
    return CliRunner().invoke(app, ["validate", *words])


def at(root: Path, monkeypatch: pytest.MonkeyPatch, keys: dict[str, Any]) -> None:
    (root / "stacks").mkdir()
    written(root / "stacks", keys)
    monkeypatch.setattr(verb, "ROOT", root)
    monkeypatch.chdir(root)


def test_without_a_name_all_environments_are_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at(tmp_path, monkeypatch, dev())
    said = run()
    assert said.exit_code == 0
    assert said.stdout.startswith("dev is valid: ")
    (found,) = json.loads(run("--json").stdout)
    assert (found["environment"], found["holds"]) == ("dev", True)


def test_a_mistake_is_exit_code_1_and_begins_with_a_path_to_click(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = dev()
    keys["gpu-fleet:pools"]["cpu"]["nodes"] = 0
    at(tmp_path, monkeypatch, keys)
    said = run("dev")
    assert said.exit_code == 1
    assert said.stdout == "dev: 1 mistake; rules not judged.\n"
    assert said.stderr.startswith("stacks/Pulumi.dev.yaml:")
    (found,) = json.loads(run("dev", "--json").stdout)
    assert len(found["mistakes"]) == 1


def test_an_unknown_environment_is_exit_code_2() -> None:
    said = run("prd")
    assert (said.exit_code, said.stdout) == (2, "")
    assert 'did you mean "prod"? Known: dev, prod, research.' in said.stderr
