"""The report: what it counts, and that it fits a terminal."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hardware.catalogue import load
from policies.environment import Environment
from rehearsal import digest, report_builder
from rehearsal.lakefs_held import HeldRepository, LakefsHeld
from rehearsal.machines import Gateway, Refusal
from rehearsal.providers.values import Value
from rehearsal.report import Report, not_rehearsed
from tests.support.rehearsal import fleets
from tests.support.rehearsal.reports import UP, VOLCANO, text


def test_facts_that_nobody_has_verified_are_told_once_for_each_kind_of_machine(
    whole: Report,
) -> None:
    machines = [name for name in ("ccx33", "dgx-h200", "p5e.48xlarge") if load(name).doubts]
    assert machines, "the catalogue has verified everything, so that this says nothing"
    assert whole.unverified == {name: load(name).doubts for name in machines}
    assert f"dgx-h200: {', '.join(load('dgx-h200').doubts)}" in text(whole, width=1000)


def test_pools_say_how_many_of_their_machines_are_ready(whole: Report) -> None:
    ready = {pool.name: (pool.nodes_ready, pool.nodes_wanted) for pool in whole.pools}
    assert ready == {"dgx": (2, 2), "burst": (0, 0), "cpu": (3, 3)}


def test_a_pool_of_karpenter_shows_its_limit_and_its_boot_data(whole: Report) -> None:
    burst = next(pool for pool in whole.pools if pool.name == "burst")
    assert (burst.gpu_limit, burst.boot_data_ok) == (16, True)


def test_a_gateway_is_told_apart_from_nodes_and_costs_what_it_costs(
    whole: Report, environment: Environment
) -> None:
    server = load("ccx33")
    gateway = Gateway(name="fleet-dev-fra-gateway", hardware=server)
    fleet = replace(fleets.dev(), gateways=(gateway,))
    found = report_builder.with_fleet(whole, environment.settings, fleet)
    assert "outside the cluster: fleet-dev-fra-gateway (ccx33)." in text(found)
    assert len(found.nodes) == len(whole.nodes)
    assert found.cost is not None
    assert whole.cost is not None
    assert server.usd_per_hour is not None
    more = found.cost.usd_per_hour - whole.cost.usd_per_hour
    assert more == pytest.approx(server.usd_per_hour, abs=0.01)
    assert "as gateways" not in text(whole)


def test_a_gateway_that_stays_out_is_of_no_pool(whole: Report, environment: Environment) -> None:
    out = Refusal(name="fleet-dev-fra-gateway", pool="", reasons=("wg0 gets no address.",))
    found = report_builder.with_fleet(
        whole, environment.settings, replace(fleets.dev(), refusals=(out,))
    )
    assert found.problems == ("fleet-dev-fra-gateway did not come up: wg0 gets no address.",)


def test_a_node_that_is_not_ready_says_nothing_of_its_boot_data(
    whole: Report, environment: Environment
) -> None:
    reasons = ("Its Node was not Ready after 60 s.",)
    late = Refusal(name="cpu-1", pool="cpu", reasons=reasons, of_boot_data=False)
    refused = Refusal(name="dgx-2", pool="dgx", reasons=("Its script is broken.",))
    fleet = replace(fleets.dev(), refusals=(late, refused))
    found = report_builder.with_fleet(whole, environment.settings, fleet)
    assert {pool.name: pool.boot_data_ok for pool in found.pools} == {
        "dgx": False,
        "burst": True,
        "cpu": True,
    }


def test_nodes_carry_numa_layout_gpus_and_huge_pages(whole: Report) -> None:
    dgx = whole.nodes[0]
    assert [(numa.memory_gib, numa.gpus) for numa in dgx.numa] == [(1024, 4), (1024, 4)]
    assert (dgx.cpus, dgx.gpus, dgx.hugepages) == (224, 8, {"1Gi": (64, 64)})


def test_the_cost_is_that_of_ready_nodes_at_catalogue_prices(whole: Report) -> None:
    prices = [node.usd_per_hour or 0 for node in whole.nodes]
    assert whole.cost
    assert whole.cost.usd_per_hour == round(sum(prices), 2) > 0


def test_a_machine_that_stays_out_is_a_problem_and_costs_nothing(
    whole: Report, environment: Environment
) -> None:
    out = fleets.dev_without("dgx-2", "Its kubelet would not start.")
    found = report_builder.with_fleet(whole, environment.settings, out)
    assert found.problems == ("dgx-2 (dgx) did not come up: Its kubelet would not start.",)
    assert whole.cost
    assert found.cost
    assert found.cost.usd_per_hour < whole.cost.usd_per_hour


def test_all_that_was_not_rehearsed_is_named(whole: Report) -> None:
    """Kinds of jobs without a place, programs of ours that no twin runs, labels of the driver."""
    assert whole.smoke
    left = replace(whole.smoke, left_out={"slice": "no owned pool shares its GPUs"})
    labels = {"nvidia.com/gpu.product": "NVIDIA-H200"}
    nodes = tuple(replace(node, labels=labels) for node in whole.nodes)
    report = report_builder.with_controllers(
        replace(whole, smoke=left, nodes=nodes), (), ("fleet-join-tokens",)
    )
    chart, *others, labels_left = not_rehearsed(report)
    assert chart.startswith("chart volcano 1.14.1")
    assert others == [
        "controller fleet-join-tokens: made, not run",
        "smoke job slice: no owned pool shares its GPUs",
    ]
    assert "gpu.memory" in labels_left
    assert [*not_rehearsed(whole)] == [chart]


def test_a_release_is_listed_as_not_rehearsed(whole: Report) -> None:
    assert [(c.name, c.version) for c in whole.charts_not_rehearsed] == [("volcano", "1.14.1")]


def test_what_was_not_rehearsed_is_listed_in_one_order(environment: Environment) -> None:
    charts = [
        replace(VOLCANO, name=f"{name}-release", inputs={**VOLCANO.inputs, "name": name})
        for name in ("b", "a", "c")
    ]
    planned = report_builder.planned(environment)
    found = [
        report_builder.with_up(planned, environment, UP, things, {}).charts_not_rehearsed
        for things in (charts, charts[::-1])
    ]
    assert found[0] == found[1]


def test_a_rehearsal_that_ends_early_shows_pools_and_cost_as_planned(
    environment: Environment, tmp_path: Path
) -> None:
    planned = report_builder.planned(environment)
    found = report_builder.as_far_as_known(planned, environment, tmp_path, "preview")
    assert found.planned
    assert found.verdicts == (), "no pack has written anything"
    wanted = {pool.name: (pool.nodes_wanted, pool.nodes_ready) for pool in found.pools}
    assert wanted == {"dgx": (2, 0), "burst": (0, 0), "cpu": (3, 0)}
    priced = (load("dgx-h200").usd_per_hour or 0) * 2 + (load("ccx33").usd_per_hour or 0) * 3
    assert found.cost
    assert found.cost.usd_per_hour == pytest.approx(priced, abs=0.01)


def test_a_whole_report_stays_as_it_is(
    whole: Report, environment: Environment, tmp_path: Path
) -> None:
    assert report_builder.as_far_as_known(whole, environment, tmp_path, "job") is whole


def test_a_rehearsal_that_ends_while_it_counts_machines_shows_the_pools_all_the_same(
    environment: Environment, tmp_path: Path
) -> None:
    updated = report_builder.with_up(
        report_builder.planned(environment), environment, UP, [VOLCANO], {}
    )
    updated = report_builder.with_verdicts(updated, environment, [])
    found = report_builder.as_far_as_known(updated, environment, tmp_path, "machines")
    assert found.verdicts == updated.verdicts
    shown = text(found)
    assert "Pools as the stack file plans them; the machines were not counted:" in shown
    assert all(f" {pool} " in shown for pool in environment.settings.pools)


def test_a_rehearsal_whose_update_did_not_end_does_not_say_that_nothing_was_created(
    environment: Environment, tmp_path: Path
) -> None:
    (tmp_path / "up-findings.jsonl").write_text(
        '{"pack": "gpu-fleet", "preview": false, "finding": null}\n'
    )
    planned = report_builder.planned(environment)
    found = report_builder.as_far_as_known(planned, environment, tmp_path, "up")
    assert "; the update did not end:" in text(found)
    (held,) = [line.text for line in digest.counts(found) if "hold" in line.text]
    assert held.endswith(" hold so far: the update did not end")


def test_a_rule_is_not_said_to_hold_where_the_program_failed_before_all_was_judged(
    environment: Environment, tmp_path: Path
) -> None:
    (tmp_path / "preview-findings.jsonl").write_text(
        '{"pack": "gpu-fleet", "preview": true, "finding": null}\n'
    )
    planned = report_builder.planned(environment)
    whole = report_builder.as_far_as_known(planned, environment, tmp_path, "preview")
    assert any("hold so far" in line.text for line in digest.counts(whole))
    refused = planned.failed("This update replaces or deletes 3 servers.")
    found = report_builder.as_far_as_known(refused, environment, tmp_path, "preview")
    assert found.verdicts == ()
    assert [*digest.counts(found)] == []


@pytest.mark.parametrize(
    ("nodes", "wanted", "gpus"),
    [(2, 2, "16"), (1, 2, "8 of 16"), (0, 2, "0 of 16")],
)
def test_the_gpus_of_a_row_are_those_of_the_pool_not_of_a_node(
    whole: Report, nodes: int, wanted: int, gpus: str
) -> None:
    dgx = [node for node in whole.nodes if node.pool == "dgx"][:nodes]
    pool = next(pool for pool in whole.pools if pool.name == "dgx")
    pool = replace(pool, nodes_wanted=wanted, nodes_ready=nodes)
    (row,) = digest.pool_rows(replace(whole, nodes=tuple(dgx), pools=(pool,)))
    assert row.gpus == f"{gpus}{digest.TIMES}H200"


def test_a_pool_that_has_no_node_yet_shows_the_most_gpus_and_one_without_gpus_none(
    whole: Report,
) -> None:
    rows = {row.pool: row.gpus for row in digest.pool_rows(whole)}
    assert (rows["burst"], rows["cpu"]) == ("up to 16", digest.NOTHING)


def test_the_whole_report_has_room_for_numa_nodes_in_100_columns(whole: Report) -> None:
    assert "2 × 112 CPUs, 1 TiB" in text(whole, width=100)  # noqa: RUF001  # as it is shown


def test_what_lakefs_holds_is_shown_and_that_it_was_a_fake(whole: Report) -> None:
    repository = HeldRepository(
        name="ticks",
        storage_namespace="s3://bucket/ticks",
        default_branch="main",
        protected=("main",),
        actions=("merge-check.yaml",),
        keep_days={"*": 90, "main": 36500},
    )
    open_one = replace(repository, name="open", protected=(), actions=(), keep_days={})
    fake = LakefsHeld(endpoint=None, user="admin", repositories=(repository, open_one))
    shown = text(report_builder.with_lakefs(whole, fake), width=200)
    rules = "protected main; actions merge-check.yaml; days kept * 90, main 36500"
    assert f"repository ticks in s3://bucket/ticks: {rules}" in shown
    assert "repository open in s3://bucket/ticks: protected none; actions none; " in shown
    assert report_builder.FAKE_LAKEFS in shown
    named = replace(fake, endpoint="https://lakefs.fleet.example")
    shown = text(report_builder.with_lakefs(whole, named), width=200)
    assert "https://lakefs.fleet.example, administrator admin" in shown
    assert report_builder.FAKE_LAKEFS not in shown
    assert "lakeFS" not in text(report_builder.with_lakefs(whole, None))


def test_the_short_report_has_one_line_of_lakefs(whole: Report) -> None:
    held = LakefsHeld(endpoint=None, user="admin", repositories=())
    told = [line.text for line in digest.counts(report_builder.with_lakefs(whole, held))]
    assert [text for text in told if text.endswith("lakeFS holds 0 repositories")]
    assert sum("lakeFS" in text for text in told) == 1


@pytest.mark.parametrize(
    ("inputs", "how"),
    [
        ({"chart": "volcano"}, "only its CRDs are installed"),
        ({"chart": "kured"}, "recorded, not installed"),
        ({"chart": "oci://ecr/karpenter", "skipCrds": True}, "recorded, not installed"),
    ],
)
def test_a_chart_is_said_to_bring_its_kinds_only_where_it_does(
    environment: Environment, inputs: dict[str, Value], how: str
) -> None:
    chart = replace(VOLCANO, inputs={**inputs, "name": "it", "version": "1.2.3"})
    found = report_builder.with_up(
        report_builder.planned(environment), environment, UP, [chart], {}
    )
    assert f"chart it 1.2.3: {how}" in text(found)


def test_versions_differ_by_their_minor_alone() -> None:
    found = report_builder.differences(
        {"kubernetes": "1.33.9", "volcano": "1.14.0", "flatcar": "4593.2.5"},
        {"kubernetes": "1.36.3", "volcano": "1.14.1"},
    )
    assert [(d.system, d.environment, d.rehearsed) for d in found] == [
        ("kubernetes", "1.33.9", "1.36.3")
    ]


def test_the_report_is_plain_json(whole: Report) -> None:
    found = json.loads(json.dumps(whole.as_json()))
    assert found["smoke"]["runs"][0]["nodes"] == ["dgx-1"]
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
