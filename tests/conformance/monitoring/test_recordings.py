"""What the recording rules make of series as the exporters write them."""

import pytest

from tests.conformance.monitoring.exporters import (
    GAP,
    STALE,
    Device,
    Node,
    Pod,
    activity,
    placed_pages,
    steady,
    then,
)
from tests.conformance.monitoring.promtool import Promtool
from tests.conformance.monitoring.situations import (
    BUSY,
    GPU,
    IDLE,
    QUANTS,
    SLICE,
    dgx,
    gang,
    series,
)

SHARED = "nvidia.com/gpu.shared"
BALANCED = {GPU: 0, SLICE: 16, "nvidia.com/mig-2g.35gb": 8, "nvidia.com/mig-3g.71gb": 8}
PODS = 'namespace="research", node="dgx-01", pod="train-0", pool="dgx"'
OWNED = f'{{branch="bt-20261120-a1", cost_centre="4711", {PODS}, team="quants"}}'


def train(requests: dict[str, int], node: Node | None = None, **changed: object) -> Pod:
    """A pod of the team quants on dgx-01."""
    given: dict[str, object] = {
        "name": "train-0",
        "node": node.name if node else "dgx-01",
        "requests": requests,
        "labels": QUANTS,
        **changed,
    }
    return Pod(**given)  # type: ignore[arg-type]  # the caller names fields of Pod


def test_promtool_finds_no_fault_with_the_rules(promtool: Promtool) -> None:
    assert promtool.check() == ""


def test_a_mean_carries_the_workloads_pod_and_a_free_gpu_has_none(promtool: Promtool) -> None:
    held, free = gang("train-0", gpus=1)[0], Device(node="dgx-01", index=1)
    found = promtool.values(
        60,
        activity([held], steady(0.6)) + activity([free], IDLE),
        {
            "gpu:gr_engine_active:avg30m": {
                "gpu:gr_engine_active:avg30m"
                '{node="dgx-01", gpu="0", UUID="GPU-dgx-01-0", namespace="research",'
                ' pod="train-0"}': 0.6,
                'gpu:gr_engine_active:avg30m{node="dgx-01", gpu="1", UUID="GPU-dgx-01-1"}': 0,
            }
        },
    )
    assert found == ""


def test_a_mean_needs_a_third_of_its_window(promtool: Promtool) -> None:
    found = promtool.values(
        60,
        [
            *activity([Device(node="short", index=0)], then((0.9, 10), (GAP, 41), (0.5, 9))),
            *activity([Device(node="long", index=0)], then((0.9, 10), (GAP, 39), (0.5, 11))),
        ],
        {
            "gpu:gr_engine_active:avg30m": {
                'gpu:gr_engine_active:avg30m{node="long", gpu="0", UUID="GPU-long-0"}': 0.5
            }
        },
    )
    assert found == ""


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
        series(dgx(capacity=capacity), train(requests)),
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
            train({GPU: 1}, containers=("main", "evaluator")),
            train({GPU: 4}, name="done", phase="Succeeded"),
            train({GPU: 4}, name="next", phase="Pending", containers=("a", "b")).on(""),
            train({SLICE: 1}, name="slice", phase="Pending", labels=None).on(""),
        ),
        {
            "sum by (pod) (pod:gpus_held:sum)": {'{pod="train-0"}': 2},
            "sum by (pod) (pod:gpu_requested:sum)": {'{pod="train-0"}': 2},
            "sum by (pod, team) (pod:gpu_waiting:sum)": {
                '{pod="next", team="quants"}': 8,
                '{pod="slice", team="unlabelled"}': 1,
            },
        },
    )
    assert found == ""


def test_one_busy_gpu_of_eight_leaves_seven_idle(promtool: Promtool) -> None:
    devices = dict(zip(gang("train-0"), [BUSY, *[IDLE] * 7], strict=True))
    found = promtool.values(
        60,
        series(dgx(), train({GPU: 8}), devices=devices),
        {
            "pod:gpu_active:count": {
                'pod:gpu_active:count{namespace="research", pod="train-0"}': 1
            },
            "sum by (team) (pod:gpus_idle:sum)": {'{team="quants"}': 7},
            "sum by (team) (pod:gpus_active:sum)": {'{team="quants"}': 1},
            "sum by (pool) (node:gpus_active:sum)": {'{pool="dgx"}': 1},
        },
    )
    assert found == ""


def test_a_pod_without_any_busy_gpu_counts_as_none_and_not_as_nothing(promtool: Promtool) -> None:
    devices = dict.fromkeys(gang("train-0", gpus=2), IDLE)
    found = promtool.values(
        60,
        series(dgx(), train({GPU: 2}), devices=devices),
        {"sum(pod:gpu_active:count)": {"{}": 0}, "sum(pod:gpu_unused:count)": {"{}": 2}},
    )
    assert found == ""


def test_a_pod_is_not_judged_by_the_gpus_that_happen_to_be_seen(promtool: Promtool) -> None:
    found = promtool.values(
        60,
        series(dgx(), train({GPU: 8}), devices=dict.fromkeys(gang("train-0", gpus=3), BUSY)),
        {"pod:gpu_unused:count": {}, "pod:gpus_idle:sum": {}, "pod:gpus_active:sum": {}},
    )
    assert found == ""


def test_a_nodes_mig_instances_weigh_by_their_slices(promtool: Promtool) -> None:
    def instance(profile: str, number: int) -> Device:
        return Device(node="dgx-01", index=0, profile=profile, instance=str(number))

    found = promtool.values(
        60,
        series(
            devices={
                instance("3g.71gb", 1): BUSY,
                instance("2g.35gb", 5): IDLE,
                instance("1g.18gb", 13): IDLE,
                instance("1g.18gb+me", 14): BUSY,
            }
        ),
        {"node:gpu_active:ratio": {'node:gpu_active:ratio{node="dgx-01"}': 4 / 7}},
    )
    assert found == ""


def test_a_device_weighs_its_compute_slices(promtool: Promtool) -> None:
    weights = {"1g.18gb": 1, "1g.18gb+me": 1, "2g.35gb": 2, "3g.71gb": 3, "4g.71gb": 4}
    weights |= {"7g.141gb": 7}
    instances = [
        Device(node="dgx-01", index=0, profile=profile, instance=str(number))
        for number, profile in enumerate(weights)
    ]
    expected: dict[str, float] = {
        f'{{GPU_I_PROFILE="{profile}"}}': weight for profile, weight in weights.items()
    }
    found = promtool.values(
        20,
        activity([*instances, Device(node="dgx-01", index=1)], IDLE),
        {"sum by (GPU_I_PROFILE) (gpu:sevenths:count)": {**expected, "{}": 7}},
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
        series(dgx(capacity={resource: 2}), train({resource: 1})),
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
            train({GPU: 1}),
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
            train({GPU: 4}),
            train({GPU: 2}, name="train-1", labels=other),
            train({GPU: 1}, name="bare", labels={}),
            train({GPU: 1}, name="unseen", node=dgx("p5e-1"), labels=None),
            train({}, name="web"),
        ),
        {
            "team:gpu_usd_per_hour:sum": {
                'team:gpu_usd_per_hour:sum{team="quants", cost_centre="4711"}': 15,
                'team:gpu_usd_per_hour:sum{team="unlabelled"}': 32.5,
            },
            "count(pod:fleet_labels:info)": {"{}": 4},
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
        series(dgx(there=steady(1, minutes=91)), train({GPU: 8}, there=there)),
        # 30 and 31 evaluations of 20 USD an hour, for the first and the last minute count whole
        {"branch:gpu_usd:sum30d": {'branch:gpu_usd:sum30d{branch="bt-20261120-a1"}': 61 * 20 / 60}},
    )
    assert found == ""


def test_numa_misses_are_told_by_kubernetes_node(promtool: Promtool) -> None:
    found = promtool.values(
        30,
        list(placed_pages("dgx-01", hit=9_000, miss=1_000)),
        {
            "node:numa_miss:ratio5m": {'node:numa_miss:ratio5m{node="dgx-01"}': 0.1},
            "node:numa_pages_migrated:rate5m": {
                'node:numa_pages_migrated:rate5m{node="dgx-01"}': 3
            },
        },
    )
    assert found == ""
