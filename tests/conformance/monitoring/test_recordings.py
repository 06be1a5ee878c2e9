"""What the recording rules make of series as the exporters write them."""

from tests.support.monitoring.exporters import (
    GAP,
    STALE,
    Device,
    activity,
    last_xid,
    placed_pages,
    steady,
    then,
    xid_count,
)
from tests.support.monitoring.promtool import Promtool
from tests.support.monitoring.situations import (
    BUSY,
    GPU,
    IDLE,
    dgx,
    gang,
    holding,
    series,
    sliced,
)


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


def test_a_device_that_changes_hands_is_known_though_no_holder_is(promtool: Promtool) -> None:
    jobs = [Device(node="dgx-01", index=0, pod=f"job-{number}") for number in range(6)]
    short = [
        samples
        for number, job in enumerate(jobs)
        for samples in activity([job], (GAP,) * 40 * number + (0.8,) * 39 + (STALE,))
    ]
    found = promtool.values(
        60,
        short,
        {
            "gpu:gr_engine_active:avg30m": {},
            "node:gpu_active:ratio": {'node:gpu_active:ratio{node="dgx-01"}': 1},
            "sum(device:gr_engine_active:avg30m)": {"{}": 0.8},
        },
    )
    assert found == ""


def test_no_pod_has_the_measure_of_a_gpu_that_it_shares(promtool: Promtool) -> None:
    pods = ("train-0", "train-1")
    found = promtool.values(
        60,
        series(
            dgx(capacity={GPU: 16}, sharing="mps"),
            *(holding({GPU: 1}, name=each) for each in pods),
            devices=sliced(*pods, samples=BUSY),
        ),
        {
            "gpu:gr_engine_active:avg30m": {},
            "pod:gpu_unused:count": {},
            "sum by (pool) (node:gpus_active:sum)": {'{pool="dgx"}': 8},
        },
    )
    assert found == ""


def test_one_busy_gpu_of_eight_leaves_seven_idle(promtool: Promtool) -> None:
    devices = dict(zip(gang("train-0"), [BUSY, *[IDLE] * 7], strict=True))
    found = promtool.values(
        60,
        series(dgx(), holding({GPU: 8}), devices=devices),
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
        series(dgx(), holding({GPU: 2}), devices=devices),
        {"sum(pod:gpu_active:count)": {"{}": 0}, "sum(pod:gpu_unused:count)": {"{}": 2}},
    )
    assert found == ""


def test_a_pod_is_not_judged_by_the_gpus_that_happen_to_be_seen(promtool: Promtool) -> None:
    found = promtool.values(
        60,
        series(dgx(), holding({GPU: 8}), devices=dict.fromkeys(gang("train-0", gpus=3), BUSY)),
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


def test_a_gpu_without_an_xid_reports_none(promtool: Promtool) -> None:
    gpu = Device(node="dgx-01", index=0)
    without = [last_xid(gpu, steady(0)), xid_count(gpu, 0, steady(20)), xid_count(gpu, None, IDLE)]
    assert promtool.values(5, without, {"gpu:xid:seen": {}}) == ""
