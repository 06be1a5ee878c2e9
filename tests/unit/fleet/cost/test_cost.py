"""`fleet cost`: pools with prices, the formula of the cost rules, settings tried."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fleet.cli import cost as verb
from fleet.cli.main import app
from fleet.cost.costs import Costs, costs
from fleet.cost.settings_tried import TriedError, environment_with
from fleet.cost.tables import headline
from fleet.validate.program import program
from hardware.catalogue import load
from policies.language.inventory import usd_per_day_by_pool
from rehearsal.digest import TIMES
from settings import SettingsError, stack_file
from tests.conftest import ROOT
from tests.support.environments import ENVIRONMENTS


@cache
def found(name: str, *tried: str) -> Costs:
    path = stack_file(ROOT, name)
    now = environment_with(path, ())
    return costs(now, environment_with(path, tried) if tried else now)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_sums_are_those_of_the_cost_rules(name: str) -> None:
    registered = program(environment_with(stack_file(ROOT, name), ())).resources
    rules = sum(usd_per_day_by_pool(each.manifest for each in registered).values())
    said = found(name)
    assert sum(line.usd(24)[1] for line in said.lines) == pytest.approx(rules)
    assert (said.cost.fixed.after + said.cost.burst.after) * 24 == pytest.approx(rules)


def test_each_line_has_its_price_with_source() -> None:
    (dgx,) = (line for line in found("dev").lines if line.pool == "dgx")
    price = load("dgx-h200").price
    assert dgx.count == (2, 2)
    assert dgx.usd_per_machine_hour == price.amortised_per_hour
    assert (dgx.price_source, dgx.price_verified) == (price.source, False)


def test_machines_that_come_and_go_have_a_line_for_each_capacity() -> None:
    burst = [line for line in found("dev").lines if line.pool == "burst"]
    assert [(line.capacity, line.count[1], line.at_most) for line in burst] == [
        ("reserved", 1, True),
        ("spot", 1, True),
    ]


def test_a_gateway_is_counted() -> None:
    (gateway,) = (line for line in found("research").lines if "gateway" in line.pool)
    assert (gateway.hardware, gateway.count) == ("ccx33", (1, 1))


def test_a_setting_is_tried_before_and_after() -> None:
    said = found("dev", "pools.cpu.nodes=5", "gpu-fleet:pools.burst.gpu_limits.spot=24")
    counts = {(line.pool, line.capacity): line.count for line in said.lines}
    assert counts["cpu", None] == (3, 5)
    assert counts["burst", "spot"] == (1, 3)
    assert counts["dgx", None] == (2, 2)
    assert headline(said) == (
        "dev costs 919.69 → 930.25 USD a day, up to 2,830.09 → 4,751.05 with all that comes and "
        "goes."
    )


def test_another_machine_is_a_line_that_goes_and_one_that_comes() -> None:
    said = found("dev", "pools.cpu.hardware=ccx63")
    cpu = {line.hardware: line.count for line in said.lines if line.pool == "cpu"}
    assert cpu == {"ccx33": (3, 0), "ccx63": (0, 3)}


def test_a_section_that_is_not_there_is_made() -> None:
    path = stack_file(ROOT, "dev")
    assert environment_with(path, ["allow.replace=3"]).settings.allow.replace == 3


@pytest.mark.parametrize(
    ("tried", "reason"),
    [
        ("x", "--set x is no setting; allowed: KEY=VALUE, such as pools.cpu.nodes=5."),
        ("pools..nodes=1", "--set pools..nodes=1 is no setting; allowed: "),
        ("pools.cpu.nodes=[", "--set pools.cpu.nodes=[: [ is no value in YAML; allowed: "),
        (
            "pools.cpu.nodes.x=1",
            "--set pools.cpu.nodes.x=1: gpu-fleet:pools.cpu.nodes is no mapping, so it has no ",
        ),
    ],
)
def test_what_is_no_setting_is_refused(tried: str, reason: str) -> None:
    with pytest.raises(TriedError) as refused:
        environment_with(stack_file(ROOT, "dev"), [tried])
    assert str(refused.value).startswith(reason)


def test_a_setting_that_is_wrong_is_refused_as_in_the_file_without_a_line() -> None:
    with pytest.raises(SettingsError) as refused:
        environment_with(stack_file(ROOT, "dev"), ["pools.cpu.nodes=five"])
    (mistake,) = refused.value.mistakes
    assert mistake.startswith('gpu-fleet:pools.cpu.nodes is "five"; allowed: ')


def run(*words: str) -> Any:
    return CliRunner().invoke(app, ["cost", *words])


def test_json_has_lines_and_sums_before_and_after() -> None:
    said = run("dev", "--set", "pools.cpu.nodes=5", "--json")
    assert said.exit_code == 0
    told = json.loads(said.stdout)
    (cpu,) = (line for line in told["lines"] if line["pool"] == "cpu")
    assert cpu["usd_per_day"] == [15.85, 26.41]
    assert told["cost"]["fixed"]["usd_per_day"] == [919.69, 930.25]
    assert told["budget_usd_per_day"] == 3000


def test_a_person_reads_ranges_the_budget_and_what_is_not_verified(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = run("dev").stdout
    words = " ".join(text.split())
    assert words.startswith("dev costs 919.69 USD a day, up to 2,830.09 with all that comes")
    assert f"0 to 1{TIMES}p5e.48xlarge spot 39.80 0 to 955.20" in words
    assert "Always on: 38.32 USD an hour, 919.69 USD a day, 27,973.82 USD a month." in words
    assert "Budget 3,000 USD a day." in words
    assert "! price not verified: dgx-h200." in words
    table = text[: text.index("Prices;")]
    assert max(map(len, table.splitlines())) <= 80


def test_more_than_the_budget_is_told() -> None:
    words = " ".join(run("dev", "--set", "budget.usd_per_day=2000").stdout.split())
    assert "Budget 2,000 USD a day, but everything running at once would cost 2,830." in words


def test_what_cannot_be_read_is_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("dev", "--set", "x").exit_code == 2
    monkeypatch.setattr(verb, "ROOT", tmp_path)
    assert run("dev").exit_code == 2
