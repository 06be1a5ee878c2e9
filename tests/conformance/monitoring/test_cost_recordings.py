"""Who pays what, by the recording rules, on series as kube-state-metrics writes them."""

import pytest

from tests.support.monitoring.exporters import (
    GAP,
    STALE,
    steady,
    then,
)
from tests.support.monitoring.promtool import Promtool
from tests.support.monitoring.situations import (
    GPU,
    QUANTS,
    SHARED,
    SLICE,
    dgx,
    holding,
    series,
)

BALANCED = {GPU: 0, SLICE: 16, "nvidia.com/mig-2g.35gb": 8, "nvidia.com/mig-3g.71gb": 8}
PODS = 'namespace="research", node="dgx-01", pod="train-0", pool="dgx"'
OWNED = f'{{branch="bt-20261120-a1", cost_centre="4711", {PODS}, team="quants"}}'


@pytest.mark.parametrize(
    ("capacity", "requests", "gpus"),
    [
        pytest.param({GPU: 8}, {GPU: 8}, 8, id="whole GPUs"),
        pytest.param({SHARED: 32}, {SHARED: 4}, 1, id="four of 32 time slices of eight GPUs"),
        pytest.param({GPU: 32}, {GPU: 2}, 0.5, id="time slices that were not renamed"),
        pytest.param({GPU: 56}, {GPU: 7}, 1, id="MIG strategy single"),
        pytest.param({GPU: 0, SLICE: 56}, {SLICE: 7}, 1, id="seven instances of one seventh"),
        pytest.param(
            {**BALANCED}, {"nvidia.com/mig-3g.71gb": 1}, 3 / 7, id="an instance of three slices"
        ),
        pytest.param(
            {**BALANCED},
            {SLICE: 2, "nvidia.com/mig-2g.35gb": 1, "nvidia.com/mig-3g.71gb": 1},
            1,
            id="all instances of one GPU",
        ),
        pytest.param(
            {GPU: 0, "nvidia.com/mig-1g.18gb.me": 8, SLICE: 48},
            {"nvidia.com/mig-1g.18gb.me": 1},
            1 / 7,
            id="an instance with media engines",
        ),
    ],
)
def test_a_pod_pays_for_the_share_of_its_node_that_it_holds(
    capacity: dict[str, int], requests: dict[str, int], gpus: float, promtool: Promtool
) -> None:
    found = promtool.values(
        10,
        series(dgx(capacity=capacity), holding(requests)),
        {
            "pod:gpus_held:sum": {f"pod:gpus_held:sum{OWNED}": gpus},
            "pod:gpu_usd_per_hour:sum": {f"pod:gpu_usd_per_hour:sum{OWNED}": 2.5 * gpus},
        },
    )
    assert found == ""


def test_only_running_pods_hold_gpus_and_only_pending_ones_wait(promtool: Promtool) -> None:
    found = promtool.values(
        10,
        series(
            dgx(),
            holding({GPU: 1}, containers=("main", "evaluator")),
            holding({GPU: 4}, name="done", phase="Succeeded"),
            holding({GPU: 4}, name="next", phase="Pending", containers=("a", "b")).on(""),
            holding({SLICE: 1}, name="slice", phase="Pending", labels=None).on(""),
            holding({SHARED: 1}, name="share", phase="Pending", labels=None).on(""),
        ),
        {
            "sum by (pod) (pod:gpus_held:sum)": {'{pod="train-0"}': 2},
            "sum by (pod) (pod:gpu_requested:sum)": {'{pod="train-0"}': 2},
            "sum by (pod, team) (pod:gpu_waiting:sum)": {
                '{pod="next", team="quants"}': 8,
                '{pod="slice", team="unlabelled"}': 1,
                '{pod="share", team="unlabelled"}': 1,
            },
        },
    )
    assert found == ""


@pytest.mark.parametrize(
    ("resource", "weight"),
    [
        (GPU, 7),
        (SHARED, 7),
        (SLICE, 1),
        ("nvidia.com/mig-1g.18gb.me", 1),
        ("nvidia.com/mig-2g.35gb", 2),
        ("nvidia.com/mig-3g.71gb", 3),
        ("nvidia.com/mig-4g.71gb", 4),
        ("nvidia.com/mig-7g.141gb", 7),
    ],
)
def test_a_resource_weighs_the_same(resource: str, weight: int, promtool: Promtool) -> None:
    found = promtool.values(
        2,
        series(dgx(capacity={resource: 2}), holding({resource: 1})),
        {
            "sum(node:gpu_sevenths:sum)": {"{}": 2 * weight},
            "sum(pod:gpu_sevenths:sum)": {"{}": weight},
            "sum(pod:gpu_requested:sum)": {"{}": 1},
        },
    )
    assert found == ""


def test_a_pool_costs_what_its_machines_cost_whoever_uses_them(promtool: Promtool) -> None:
    found = promtool.values(
        10,
        series(
            dgx(),
            dgx("dgx-02"),
            dgx("p5e-1", pool="burst"),
            dgx("gex-1", pool="lab", capacity={GPU: 1}),
            holding({GPU: 1}),
        ),
        {
            "pool:gpu_usd_per_hour:sum": {
                'pool:gpu_usd_per_hour:sum{pool="dgx"}': 16 * 2.5,
                'pool:gpu_usd_per_hour:sum{pool="burst"}': 8 * 30,
            },
            "sum by (pool) (node:gpus:count)": {
                '{pool="dgx"}': 16,
                '{pool="burst"}': 8,
                '{pool="lab"}': 1,
            },
        },
    )
    assert found == ""


def test_teams_and_branches_pay_for_their_pods_and_nobodys_cost_vanishes(
    promtool: Promtool,
) -> None:
    other = {**QUANTS, "fleet.gpu/branch": "bt-20261121-b2"}
    found = promtool.values(
        10,
        series(
            dgx(),
            dgx("p5e-1", pool="burst"),
            holding({GPU: 3}),
            holding({GPU: 1}, name="train-a"),
            holding({GPU: 2}, name="train-1", labels=other),
            holding({GPU: 1}, name="bare", labels={}),
            holding({GPU: 1}, name="unseen", node="p5e-1", labels=None),
            holding({}, name="web"),
        ),
        {
            "team:gpu_usd_per_hour:sum": {
                'team:gpu_usd_per_hour:sum{team="quants", cost_centre="4711"}': 15,
                'team:gpu_usd_per_hour:sum{team="unlabelled"}': 32.5,
            },
            "count(pod:fleet_labels:info)": {"{}": 5},
            "branch:gpu_usd_per_hour:sum": {
                'branch:gpu_usd_per_hour:sum{branch="bt-20261120-a1"}': 10,
                'branch:gpu_usd_per_hour:sum{branch="bt-20261121-b2"}': 5,
            },
        },
    )
    assert found == ""


def test_a_branch_adds_up_the_minutes_in_which_it_ran(promtool: Promtool) -> None:
    there = then((1.0, 30), (STALE, 1), (GAP, 29), (1.0, 31))
    found = promtool.values(
        90,
        series(dgx(there=steady(1, minutes=91)), holding({GPU: 8}, there=there)),
        # 30 and 31 evaluations of 20 USD an hour, for the first and the last minute count whole
        {"branch:gpu_usd:sum30d": {'branch:gpu_usd:sum30d{branch="bt-20261120-a1"}': 61 * 20 / 60}},
    )
    assert found == ""
