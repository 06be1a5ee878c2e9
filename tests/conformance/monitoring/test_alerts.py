"""Each alert on series as the exporters write them: what sets it off, and what must not."""

from dataclasses import dataclass, field

import pytest

from components.platform.monitoring.alerts import ALERTS
from tests.conformance.monitoring.exporters import (
    GAP,
    MINUTE,
    STALE,
    Device,
    Pod,
    Series,
    Value,
    last_xid,
    placed_pages,
    steady,
    then,
    xid_count,
)
from tests.conformance.monitoring.promtool import Fires, Promtool
from tests.conformance.monitoring.situations import (
    BUSY,
    GPU,
    IDLE,
    OWNER,
    QUANTS,
    SLICE,
    dgx,
    gang,
    series,
)

NODE = {"node": "dgx-01", "pool": "dgx"}
TRAIN = {"namespace": "research", "pod": "train-0"}
GPU0 = {"node": "dgx-01", "gpu": "0", "UUID": "GPU-dgx-01-0"}


def train(gpus: int = 8, **changed: object) -> Pod:
    """A pod of the team quants with GPUs of dgx-01."""
    given: dict[str, object] = {
        "name": "train-0",
        "node": "dgx-01",
        "requests": {GPU: gpus},
        "labels": QUANTS,
        **changed,
    }
    return Pod(**given)  # type: ignore[arg-type]  # the caller names fields of Pod


@dataclass(frozen=True, kw_only=True)
class Case:
    """An alert, a situation told in words, and what fires after `minutes`."""

    alert: str
    when: str
    series: list[Series]
    minutes: int = 60
    fires: tuple[Fires, ...] = field(default_factory=tuple)


def held(pod: str, *samples: tuple[Value, ...]) -> dict[Device, tuple[Value, ...]]:
    """A GPU of dgx-01 for each of the courses, all held by the pod."""
    return dict(zip(gang(pod, gpus=len(samples)), samples, strict=True))


def instances(pod: str, number: int) -> list[Device]:
    """MIG instances of GPU 0, which share its UUID."""
    return [
        Device(node="dgx-01", index=0, pod=pod, profile="1g.18gb", instance=str(7 + each))
        for each in range(number)
    ]


POD_IDLE = "research/train-0 of team quants holds {} GPUs and has used none for half an hour"
POD_FEW = "research/train-0 of team quants uses {} of the {} GPUs that it asked for"
NODE_ALLOCATED = "Pods hold {} GPUs of node dgx-01 (dgx) and none has worked for half an hour"

CASES = (
    Case(
        alert="GpuNodeIdle",
        when="a node has joined and no pod asks for its GPUs",
        series=series(dgx(), devices=dict.fromkeys(gang(""), IDLE)),
        minutes=40,
        fires=(Fires(labels=NODE, sentence="Nobody asks for the 8 GPUs of node dgx-01 (dgx)"),),
    ),
    Case(
        alert="GpuNodeIdle",
        when="a pending pod waits for other nodes, and one that has ended still has its object",
        series=series(
            dgx(), train(node="", phase="Pending"), train(name="done", phase="Succeeded")
        ),
        minutes=40,
        fires=(Fires(labels=NODE, sentence="Nobody asks for the 8 GPUs of node dgx-01 (dgx)"),),
    ),
    Case(
        alert="GpuNodeIdle",
        when="one GPU of the node is asked for",
        series=series(dgx(), train(1)),
    ),
    Case(
        alert="GpuNodeIdle",
        when="the node has been there for twenty minutes",
        series=series(dgx(there=steady(1, minutes=20))),
        minutes=20,
    ),
    Case(
        alert="GpuNodeAllocatedButIdle",
        when="its GPUs are all held and none works",
        series=series(dgx(), train(), devices=held("train-0", *[IDLE] * 8)),
        fires=(Fires(labels=NODE, sentence=NODE_ALLOCATED.format(8)),),
    ),
    Case(
        alert="GpuNodeAllocatedButIdle",
        when="its time-sliced GPUs are idle, which the exporter shows without a pod",
        series=series(
            dgx(capacity={"nvidia.com/gpu.shared": 32}, sharing="time-slicing"),
            train(requests={"nvidia.com/gpu.shared": 4}),
            devices=dict.fromkeys(gang(""), IDLE),
        ),
        fires=(Fires(labels=NODE, sentence=NODE_ALLOCATED.format(1)),),
    ),
    Case(
        alert="GpuNodeAllocatedButIdle",
        when="one of its GPUs works",
        series=series(dgx(), train(), devices=held("train-0", BUSY, *[IDLE] * 7)),
    ),
    Case(
        alert="GpuNodeAllocatedButIdle",
        when="another pod has come twenty minutes ago",
        series=series(
            dgx(),
            train(4),
            train(4, name="young-0", started=2400),
            devices=held("train-0", *[IDLE] * 4),
        ),
    ),
    Case(
        alert="GpuPodIdle",
        when="none of its eight GPUs works",
        series=series(dgx(), train(), devices=held("train-0", *[IDLE] * 8)),
        fires=(Fires(labels={**TRAIN, "node": "dgx-01", **OWNER}, sentence=POD_IDLE.format(8)),),
    ),
    Case(
        alert="GpuPodIdle",
        when="its two MIG instances are idle, and the third of that GPU is another's and works",
        series=series(
            dgx(capacity={GPU: 0, SLICE: 56}),
            train(requests={SLICE: 2}),
            devices={
                **dict.fromkeys(instances("train-0", 2), IDLE),
                instances("other-0", 3)[2]: BUSY,
            },
        ),
        fires=(Fires(labels={**TRAIN, "node": "dgx-01", **OWNER}, sentence=POD_IDLE.format(2)),),
    ),
    Case(
        alert="GpuPodIdle",
        when="a pod without labels is idle",
        series=series(dgx(), train(1, labels=None), devices=held("train-0", IDLE)),
        fires=(
            Fires(
                labels={**TRAIN, "node": "dgx-01", "team": "unlabelled"},
                sentence=POD_IDLE.replace("quants", "unlabelled").format(1),
            ),
        ),
    ),
    Case(
        alert="GpuPodIdle",
        when="it has run for less than half an hour",
        series=series(
            dgx(),
            train(1, started=2400),
            devices=held("train-0", then((GAP, 40), (0.0, 21))),
        ),
    ),
    Case(
        alert="GpuPodIdle",
        when="it loads data for ten minutes between epochs",
        series=series(
            dgx(),
            train(1),
            devices=held("train-0", then(*((0.9, 10), (0.0, 10)) * 3)),
        ),
    ),
    Case(
        alert="GpuPodIdle",
        when="the exporter has been down for long and has only just come back",
        series=series(
            dgx(),
            train(1),
            devices=held("train-0", then((0.9, 10), (GAP, 42), (0.0, 8))),
        ),
        minutes=59,
    ),
    Case(
        alert="GpuPodIdle",
        when="its pod has ended and the means of its last half hour linger",
        series=series(
            dgx(),
            train(1, there=then((1.0, 50), (STALE, 1))),
            devices=held("train-0", then((0.0, 50), (STALE, 1))),
        ),
        minutes=55,
    ),
    Case(
        alert="GpuPodUsesFewOfItsGpus",
        when="one of eight works",
        series=series(dgx(), train(), devices=held("train-0", BUSY, *[IDLE] * 7)),
        fires=(Fires(labels={**TRAIN, **OWNER}, sentence=POD_FEW.format(1, 8)),),
    ),
    Case(
        alert="GpuPodUsesFewOfItsGpus",
        when="one of eight works, and the exporter's pod was replaced on the same address",
        series=series(
            dgx(),
            train(),
            devices={
                **dict(
                    zip(
                        gang("train-0"),
                        (then((0.93, 45), (STALE, 1)), *[then((0.0, 45), (STALE, 1))] * 7),
                        strict=True,
                    )
                ),
                **dict(
                    zip(
                        gang("train-0", exporter="nvidia-dcgm-exporter-new1"),
                        (then((GAP, 46), (0.93, 15)), *[then((GAP, 46), (0.0, 15))] * 7),
                        strict=True,
                    )
                ),
            },
        ),
        fires=(Fires(labels={**TRAIN, **OWNER}, sentence=POD_FEW.format(1, 8)),),
    ),
    Case(
        alert="GpuPodUsesFewOfItsGpus",
        when="one of two MIG instances works",
        series=series(
            dgx(capacity={GPU: 0, SLICE: 56}),
            train(requests={SLICE: 2}),
            devices=dict(zip(instances("train-0", 2), (BUSY, IDLE), strict=True)),
        ),
        fires=(Fires(labels={**TRAIN, **OWNER}, sentence=POD_FEW.format(1, 2)),),
    ),
    Case(
        alert="GpuPodUsesFewOfItsGpus",
        when="all eight work",
        series=series(dgx(), train(), devices=held("train-0", *[BUSY] * 8)),
    ),
    Case(
        alert="GpuPodUsesFewOfItsGpus",
        when="none works, which another alert says",
        series=series(dgx(), train(), devices=held("train-0", *[IDLE] * 8)),
    ),
    Case(
        alert="GpuPodUsesFewOfItsGpus",
        when="the exporter tells of one of the eight alone",
        series=series(dgx(), train(), devices=held("train-0", BUSY)),
    ),
    Case(
        alert="BranchCostOverLimit",
        when="eight GPUs at 30 USD an hour have run for half an hour",
        series=series(dgx("p5e-1", pool="burst"), train(node="p5e-1")),
        minutes=30,
        fires=(
            Fires(
                labels={"branch": "bt-20261120-a1"},
                sentence=(
                    "Backtest bt-20261120-a1 has cost 124 USD in GPUs within 30 days and goes on"
                ),
            ),
        ),
    ),
    Case(
        alert="BranchCostOverLimit",
        when="it has cost 80 USD so far",
        series=series(dgx("p5e-1", pool="burst"), train(node="p5e-1")),
        minutes=19,
    ),
    Case(
        alert="BranchCostOverLimit",
        when="it has ended an hour ago",
        series=series(
            dgx("p5e-1", pool="burst", there=steady(1, minutes=110)),
            train(node="p5e-1", there=then((1.0, 40), (STALE, 1))),
        ),
        minutes=110,
    ),
    Case(
        alert="BranchCostOverLimit",
        when="the branch is no backtest",
        series=series(
            dgx("p5e-1", pool="burst"),
            train(node="p5e-1", labels={**QUANTS, "fleet.gpu/branch": "main"}),
        ),
    ),
    Case(
        alert="GpuHardwareXid",
        when="a GPU has fallen off the bus",
        series=[last_xid(gang("train-0")[0], then((0.0, 10), (79.0, 20)))],
        minutes=12,
        fires=(
            Fires(labels={**GPU0, "xid": "79"}, sentence="GPU 0 of node dgx-01 reported XID 79"),
        ),
    ),
    Case(
        alert="GpuHardwareXid",
        when="a memory error was followed at once by the end of its processes",
        series=[
            last_xid(gang("train-0")[0], then((0.0, 10), (45.0, 50))),
            xid_count(gang("train-0")[0], 48, then((GAP, 10), (1.0, 5), (STALE, 1))),
            xid_count(gang("train-0")[0], 45, then((GAP, 10), (8.0, 5), (STALE, 1))),
        ],
        minutes=40,
        fires=(
            Fires(labels={**GPU0, "xid": "48"}, sentence="GPU 0 of node dgx-01 reported XID 48"),
        ),
    ),
    Case(
        alert="GpuHardwareXid",
        when="both MIG instances of a GPU show its code",
        series=[last_xid(each, steady(95, minutes=20)) for each in instances("train-0", 2)],
        minutes=12,
        fires=(
            Fires(labels={**GPU0, "xid": "95"}, sentence="GPU 0 of node dgx-01 reported XID 95"),
        ),
    ),
    Case(
        alert="GpuHardwareXid",
        when="jobs made errors of their own or were killed",
        series=[
            last_xid(gang("train-0")[0], steady(31)),
            last_xid(gang("train-0")[1], steady(45)),
            last_xid(gang("train-0")[2], steady(0)),
            xid_count(gang("train-0")[0], 13, steady(1)),
            xid_count(gang("train-0")[2], 0, steady(0)),
        ],
    ),
    Case(
        alert="GpuJobXid",
        when="a job reached into memory that is not its own",
        series=[xid_count(gang("train-0")[0], 31, then((GAP, 10), (2.0, 5), (STALE, 1)))],
        minutes=12,
        fires=(
            Fires(
                labels={**GPU0, **TRAIN, "xid": "31"},
                sentence="research/train-0 on GPU 0 of node dgx-01 got XID 31",
            ),
        ),
    ),
    Case(
        alert="GpuJobXid",
        when="that was an hour ago, and the gauge still has the code",
        series=[
            last_xid(gang("train-0")[0], then((0.0, 10), (31.0, 50))),
            xid_count(gang("train-0")[0], 31, then((GAP, 10), (2.0, 5), (STALE, 1))),
        ],
        minutes=30,
    ),
    Case(
        alert="NumaMisses",
        when="a tenth of new pages lies on the other NUMA node",
        series=list(placed_pages("dgx-01", hit=9_000, miss=1_000)),
        minutes=45,
        fires=(
            Fires(
                labels={"node": "dgx-01"},
                sentence=(
                    "Node dgx-01 places 10% of new pages on another NUMA node than the one wanted"
                ),
            ),
        ),
    ),
    Case(
        alert="NumaMisses",
        when="a hundredth does, or nothing is placed at all",
        series=[
            *placed_pages("dgx-01", hit=9_900, miss=100),
            *placed_pages("dgx-02", hit=0, miss=0),
        ],
    ),
    Case(
        alert="GpuExporterMissing",
        when="a node of a GPU pool shows no GPU at all, not even to its kubelet",
        series=series(dgx(capacity={})),
        minutes=20,
        fires=(Fires(labels=NODE, sentence="Nothing is known of the GPUs of node dgx-01 (dgx)"),),
    ),
    Case(
        alert="GpuExporterMissing",
        when="the exporter of one node of two has stopped",
        series=series(
            dgx(),
            dgx("dgx-02"),
            devices={
                gang("")[0]: then((0.0, 30), (STALE, 1)),
                gang("", node="dgx-02")[0]: IDLE,
            },
        ),
        fires=(Fires(labels=NODE, sentence="Nothing is known of the GPUs of node dgx-01 (dgx)"),),
    ),
    Case(
        alert="GpuExporterMissing",
        when="a few scrapes failed, or the node is down, which another alert says",
        series=series(
            dgx(),
            dgx("dgx-02", ready=False),
            devices={gang("")[0]: then((0.0, 45), (GAP, 16))},
        ),
    ),
    Case(
        alert="NumaExporterMissing",
        when="the node exporter runs without meminfo_numa",
        series=series(dgx()),
        minutes=20,
        fires=(
            Fires(labels=NODE, sentence="Nothing is known of the NUMA nodes of node dgx-01 (dgx)"),
        ),
    ),
    Case(
        alert="NumaExporterMissing",
        when="it tells of both NUMA nodes, even if no page is placed",
        series=series(dgx(), more=placed_pages("dgx-01", hit=0, miss=0)),
    ),
    Case(
        alert="GpuPodNotMeasured",
        when="the exporter shows the pod's GPUs without a pod",
        series=series(dgx(), train(2), devices=dict.fromkeys(gang("", gpus=2), BUSY)),
        fires=(
            Fires(
                labels={**TRAIN, "node": "dgx-01"},
                sentence="It is not known whether research/train-0 uses its 2 GPUs",
            ),
        ),
    ),
    Case(
        alert="GpuPodNotMeasured",
        when="the node says that its GPUs are time-sliced",
        series=series(
            dgx(capacity={"nvidia.com/gpu.shared": 32}, sharing="time-slicing"),
            train(requests={"nvidia.com/gpu.shared": 1}),
            devices=dict.fromkeys(gang(""), BUSY),
        ),
    ),
    Case(
        alert="GpuNodeWithoutPool",
        when="a node with GPUs has a pool that the program does not know, another has none",
        series=series(dgx("stray-1", pool="old"), dgx("stray-2", pool="", capacity={SLICE: 7})),
        minutes=20,
        fires=tuple(
            Fires(
                labels={"node": f"stray-{number}"},
                sentence=(
                    f"Node stray-{number} has GPUs and belongs to no GPU pool of the program"
                ),
            )
            for number in (1, 2)
        ),
    ),
    Case(
        alert="GpuNodeWithoutPool",
        when="GPU nodes have pools, and nodes without GPUs have others",
        series=series(dgx(), dgx("ccx33-1", pool="cpu", capacity={})),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.alert}: {case.when}")
def test_an_alert_fires_when_it_should_and_says_what_it_should(
    case: Case, promtool: Promtool
) -> None:
    assert promtool.alert(case.alert, case.minutes, case.series, case.fires) == ""


def test_every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    fire = {case.alert for case in CASES if case.fires}
    stay_silent = {case.alert for case in CASES if not case.fires}
    assert fire == stay_silent == {alert.name for alert in ALERTS}


def test_a_window_of_scrapes_is_as_long_as_the_rules_think() -> None:
    assert len(steady(1, minutes=30)) - 1 == MINUTE * 30
