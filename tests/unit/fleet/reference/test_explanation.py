"""`fleet explain` of keys of the stack file and of rules."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fleet.cli.main import app
from settings import stack_file
from settings.forms import Sharing
from settings.gpu_sharing import SUITABLE
from settings.stackfile import read
from tests.conftest import ROOT

OWNED = """\
config:
  gpu-fleet:policies:
    rules: {folder: ./rules}
    acme/who-owns: {level: advisory}
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of which one environment names a folder of rules, and another one does not."""
    stacks = tmp_path / "stacks"
    code = CliRunner().invoke(
        app, ["rules", "new", "acme/who-owns", "--folder", str(stacks / "rules")]
    )
    assert code.exit_code == 0, code.output
    (stacks / "Pulumi.dev.yaml").write_text(OWNED, encoding="utf-8")
    (stacks / "Pulumi.prod.yaml").write_text("config: {}\n", encoding="utf-8")
    monkeypatch.setattr("fleet.cli.explain.ROOT", tmp_path)
    return stacks


def explained(*words: str) -> str:
    said = CliRunner().invoke(app, ["explain", *words], terminal_width=100)
    assert said.exit_code == 0, said.stderr
    return said.stdout


def answer(*words: str) -> Any:
    return json.loads(explained(*words, "--json"))


def refused(word: str) -> str:
    said = CliRunner().invoke(app, ["explain", word])
    assert (said.exit_code, said.stdout) == (2, "")
    return said.stderr


def test_the_modes_of_sharing_say_what_they_suit_and_where_that_is_said() -> None:
    assert set(SUITABLE) == set(Sharing.__args__)  # type: ignore[attr-defined]  # of a Literal
    shown = explained("pools.dgx.sharing")
    for mode, suitable in SUITABLE.items():
        assert f"\n  {mode}: for " in shown
        assert suitable.source in shown


def test_a_key_has_its_value_in_each_environment() -> None:
    (found,) = answer("pools.cpu.nodes")
    values = {each["environment"]: each["value"] for each in found["values"]}
    for name, value in values.items():
        document, _lines = read(stack_file(ROOT, name))
        assert value == document["config"]["gpu-fleet:pools"]["cpu"]["nodes"]
    assert set(values) == {"dev", "prod", "research"}


def test_one_environment_can_be_asked_and_a_default_is_called_so() -> None:
    (found,) = answer("pools.dgx.sharing", "--env", "prod")
    assert found["values"] == [
        {"environment": "prod", "path": "pools.dgx.sharing", "value": "whole", "is_default": True}
    ]
    assert "whole (default)" in explained("pools.dgx.sharing", "--env", "prod")


def test_a_name_left_open_stands_for_every_entry() -> None:
    (found,) = answer("pools.*.tuning.isolation", "--env", "dev")
    paths = [each["path"] for each in found["values"]]
    assert sorted(paths) == [f"pools.{pool}.tuning.isolation" for pool in ("burst", "cpu", "dgx")]


def test_a_pools_kind_decides_which_form_of_a_key_is_meant() -> None:
    assert [each["kinds"] for each in answer("sites.hel1.cidr")] == [["hetzner"]]
    assert [each["kinds"] for each in answer("sites.*.cidr")] == [["on-prem", "aws"], ["hetzner"]]


@pytest.mark.parametrize(
    "word", ["gpu-fleet:budget.usd_per_day", "budget.usd_per_day", "usd_per_day"]
)
def test_a_key_is_known_with_and_without_its_namespace_and_by_its_name(word: str) -> None:
    (found,) = answer(word)
    assert found["path"] == "budget.usd_per_day"
    assert found["unit"] == "USD/day"


@pytest.mark.parametrize("word", ["pools", "pools.dgx.tuning", "teams.research.queues.research"])
def test_a_section_or_mapping_lists_its_keys(word: str) -> None:
    assert len(answer(word)) > 2
    assert f"{word} has these keys:" in explained(word)


def test_a_machine_of_a_list_is_known_by_its_number() -> None:
    (found,) = answer("pools.dgx.machines[1].name", "--env", "dev")
    assert [each["value"] for each in found["values"]] == ["dev-dgx-02"]


@pytest.mark.parametrize(
    "word", ["cost/crossover", "policies.cost/crossover", "policies.cost/crossover.level"]
)
def test_a_rule_says_why_where_and_how_to_exempt(word: str) -> None:
    found = answer(word)
    assert found["id"] == "cost/crossover"
    assert found["level"] == "advisory"
    assert found["gates"] == "preview"
    assert [each["name"] for each in found["settings"]] == ["sustained_hours_per_day"]
    shown = explained(word)
    for part in (found["sentence"], found["source"], "exemptions:", "docs/policies.md"):
        assert part in " ".join(shown.split())


def test_a_rule_shows_what_an_environment_sets() -> None:
    found = answer("idle/gpu-node-pool", "--env", "prod")
    assert found["environments"] == [
        {"environment": "prod", "said": {"max_consolidate_after_minutes": 10}}
    ]


def test_lines_of_plans_are_explained_as_before() -> None:
    assert "In plans for " in explained("isolcpus")
    assert explained("nohz_full").startswith("No plan of the catalogue has nohz_full: ")


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("pools.dgx.sharin", "nearest: pools.dgx.sharing"),
        ("pools.sharing", "nearest: pools.<name>.sharing"),
        ("cost/crossove", "nearest: cost/crossover"),
        ("isolcpuss", "nearest: isolcpus"),
        ("mig_layot", "nearest: mig_layout"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(word: str, near: str) -> None:
    assert near in refused(word)


def test_an_unknown_environment_is_refused() -> None:
    said = CliRunner().invoke(app, ["explain", "pools.dgx.sharing", "--env", "prd"])
    assert said.exit_code == 2
    assert 'did you mean "prod"?' in said.stderr


def test_a_rule_of_ones_own_is_explained_as_the_others_are(checkout: Path) -> None:
    found = answer("acme/who-owns")

    assert " must " in found["sentence"]
    assert found["environments"] == [{"environment": "dev", "said": {"level": "advisory"}}]
    assert found["file"].endswith("rules/acme/who_owns.py")
    shown = explained("policies.acme/who-owns.level")
    assert "dev: {level: advisory}" in shown
    assert "rules/acme/who_owns.py." in shown.replace("\n", "")
    assert "nearest: acme/who-owns" in refused("acme/who-own")
    assert "is no key of a stack file, no rule" in refused("example/other-name")


def test_a_rule_of_ones_own_that_cannot_be_loaded_says_why(checkout: Path) -> None:
    (checkout / "rules" / "acme" / "who_owns.py").write_text("RULE =\n", encoding="utf-8")

    assert "who_owns.py:1 is not Python: invalid syntax." in refused("acme/who-owns")
    assert explained("cost/crossover")


def test_a_key_of_other_kinds_of_pools_says_of_which() -> None:
    told = refused("pools.cpu.sharing")
    assert "`sharing` is for pools of kind aws and bare-metal, and cpu is of another kind" in told


def test_a_list_is_shown_as_a_value() -> None:
    shown = " ".join(explained("teams.research.queues.research.priorities").split())
    assert "[research, interactive, " in shown.partition("Environment")[2]
