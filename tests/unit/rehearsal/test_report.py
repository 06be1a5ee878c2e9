"""The report: what it counts, and that it fits a terminal."""

import json
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from fleet import settings as fleet_settings
from fleet.settings import Settings
from policies.rules import ALL
from rehearsal import findings
from rehearsal.events import Outcome, Violation
from rehearsal.job import JobRun
from rehearsal.progress import Phase
from rehearsal.providers.cloud import CloudObject
from rehearsal.report import Report
from rehearsal.tables import render
from tests.conftest import ROOT
from tests.unit.rehearsal import fleets

VOLCANO = CloudObject(
    provider="kubernetes",
    type=findings.RELEASE,
    id="volcano-system/volcano",
    name="volcano-release",
    inputs={"name": "volcano", "chart": "volcano", "version": "1.14.1"},
    outputs={},
)
UP = Outcome(exports={"versions": {"kubernetes": "1.34.1", "volcano": "1.14.1"}})
UP.types.update({"kubernetes:core/v1:Secret": 3, "hcloud:index/server:Server": 3})


@pytest.fixture(scope="module")
def settings() -> Settings:
    return fleet_settings.load(fleet_settings.stack_file(ROOT, "dev"))


@pytest.fixture
def whole(settings: Settings) -> Report:
    found = findings.with_up(findings.planned(settings), UP, [VOLCANO], {"kubernetes": "1.34.1"})
    found = findings.with_fleet(found, settings, fleets.dev())
    job = JobRun(name="smoke", node="dgx-1", hardware="dgx-h200", gpus=2, cpus="16", seconds=3.1)
    phases = (Phase(name="preview", seconds=9.2), Phase(name="up", seconds=20.5))
    return replace(found, passed=True, job=job, phases=phases)


def text(found: Report, width: int = 100) -> str:
    screen = StringIO()
    Console(width=width, file=screen).print(render(found))
    return screen.getvalue()


def test_pools_say_how_many_of_their_machines_are_ready(whole: Report) -> None:
    ready = {pool.name: (pool.nodes_ready, pool.nodes_wanted) for pool in whole.pools}
    assert ready == {"dgx": (2, 2), "burst": (0, 0), "cpu": (3, 3)}


def test_a_pool_of_karpenter_shows_its_limit_and_its_boot_data(whole: Report) -> None:
    burst = next(pool for pool in whole.pools if pool.name == "burst")
    assert (burst.gpu_limit, burst.boot_data_ok) == (16, True)


def test_nodes_carry_numa_layout_gpus_and_huge_pages(whole: Report) -> None:
    dgx = whole.nodes[0]
    assert [(numa.memory_gib, numa.gpus) for numa in dgx.numa] == [(1024, 4), (1024, 4)]
    assert (dgx.cpus, dgx.gpus, dgx.hugepages) == (224, 8, {"1Gi": (64, 64)})


def test_the_cost_is_that_of_ready_nodes_at_catalogue_prices(whole: Report) -> None:
    prices = [node.usd_per_hour or 0 for node in whole.nodes]
    assert whole.cost
    assert whole.cost.usd_per_hour == round(sum(prices), 2) > 0


def test_a_machine_that_stays_out_is_a_problem_and_costs_nothing(
    whole: Report, settings: Settings
) -> None:
    out = fleets.dev_without("dgx-2", "Its kubelet would not start.")
    found = findings.with_fleet(whole, settings, out)
    assert found.problems == ("dgx-2 (dgx) stays out: Its kubelet would not start.",)
    assert whole.cost
    assert found.cost
    assert found.cost.usd_per_hour < whole.cost.usd_per_hour


def test_a_release_is_listed_as_not_rehearsed(whole: Report) -> None:
    assert [(c.name, c.version) for c in whole.charts_not_rehearsed] == [("volcano", "1.14.1")]


def test_what_lakefs_would_hold_is_listed_as_recorded_alone(settings: Settings) -> None:
    repository = CloudObject(
        provider="pulumi-python",
        type="pulumi-python:dynamic/lakefs:Repository",
        id="backtests",
        name="backtests",
        inputs={},
        outputs={},
    )
    found = findings.with_up(findings.planned(settings), UP, [repository], {})
    assert "lakeFS: its repositories and checks are recorded, not made" in text(found)
    assert "lakeFS" not in text(findings.with_up(findings.planned(settings), UP, [VOLCANO], {}))


def test_every_rule_is_listed_and_held(whole: Report) -> None:
    assert [rule.id for rule in whole.rules if rule.held] == [rule.id for rule in ALL]


def test_a_rule_that_is_only_advised_shows_its_violation() -> None:
    rule = ALL[0]
    said = Violation(
        policy="fleet-resources-advisory",
        level="advisory",
        resource="burst",
        message=f"{rule.id}: NodePool 'burst' must set limits.\nBecause. See https://…",
    )
    found = findings.rules(Outcome(violations=[said]))[0]
    assert not found.held
    assert found.violations == ("NodePool 'burst' must set limits.",)


def test_versions_differ_by_their_minor_alone() -> None:
    found = findings.differences(
        {"kubernetes": "1.33.9", "volcano": "1.14.0", "flatcar": "4593.2.5"},
        {"kubernetes": "1.34.1", "volcano": "1.14.1"},
    )
    assert [(d.system, d.environment, d.rehearsed) for d in found] == [
        ("kubernetes", "1.33.9", "1.34.1")
    ]


def test_the_report_is_plain_json(whole: Report) -> None:
    found = json.loads(json.dumps(whole.as_json()))
    assert found["job"]["node"] == "dgx-1"
    assert found["nodes"][0]["labels"]["fleet.gpu/pool"] == "dgx"


@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_line_is_wider_than_the_terminal(whole: Report, width: int) -> None:
    assert max(len(line.rstrip()) for line in text(whole, width).splitlines()) <= width


def test_nodes_with_equal_facts_are_one_row(whole: Report) -> None:
    lines = [line for line in text(whole).splitlines() if "dgx-h200" in line and "fra" in line]
    assert len(lines) == 1
    assert lines[0].split()[3] == "2"


def test_a_node_that_differs_from_its_pool_has_a_row_of_its_own(whole: Report) -> None:
    other = replace(whole.nodes[1], hugepages={})
    found = replace(whole, nodes=(whole.nodes[0], other, *whole.nodes[2:]))
    lines = [line for line in text(found).splitlines() if "dgx-h200" in line and "fra" in line]
    assert [line.split()[3:6] for line in lines] == [["1", "of", "2"]] * 2
