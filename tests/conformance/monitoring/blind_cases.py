"""Situations in which nothing can be judged, or seems so."""

from tests.support.monitoring.exporters import (
    GAP,
    STALE,
    placed_pages,
    steady,
    temperature,
    then,
)
from tests.support.monitoring.promtool import Fires
from tests.support.monitoring.situations import (
    BUSY,
    GPU,
    IDLE,
    NODE,
    SHARED,
    SLICE,
    TRAIN,
    Case,
    dgx,
    gang,
    series,
    sliced,
    train,
)

CASES = (
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
            more=(
                temperature(gang("")[0], then((40.0, 30), (STALE, 1))),
                temperature(gang("", node="dgx-02")[0], steady(40)),
            ),
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
            more=[temperature(gang("")[0], then((40.0, 45), (GAP, 16)))],
        ),
    ),
    Case(
        alert="GpuExporterMissing",
        when="a profiler holds the counters of the GPUs",
        series=series(dgx(), more=[temperature(gang("")[0], steady(40))]),
    ),
    Case(
        alert="GpuProfilingMissing",
        when="a profiler has held the counters for more than an hour",
        series=series(
            dgx(there=steady(1, minutes=90)),
            more=[temperature(gang("")[0], steady(40, minutes=90))],
        ),
        minutes=70,
        fires=(
            Fires(labels=NODE, sentence="Nobody knows whether the GPUs of node dgx-01 (dgx) work"),
        ),
    ),
    Case(
        alert="GpuProfilingMissing",
        when="the exporter is away, which another alert says, or the counters are there",
        series=series(
            dgx(there=steady(1, minutes=90)),
            dgx("dgx-02", there=steady(1, minutes=90)),
            devices={gang("", node="dgx-02")[0]: steady(0, minutes=90)},
            more=[temperature(gang("", node="dgx-02")[0], steady(40, minutes=90))],
        ),
        minutes=80,
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
        when="it tells of both NUMA nodes without a page being placed, or the node is down",
        series=series(
            dgx(), dgx("dgx-02", ready=False), more=placed_pages("dgx-01", hit=0, miss=0)
        ),
    ),
    Case(
        alert="NumaExporterMissing",
        when="the node has come ten minutes ago",
        series=series(dgx()),
        minutes=10,
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
        when="its first half hour is over and it is not measured yet",
        series=series(dgx(), train(2, started=0)),
        minutes=45,
    ),
    Case(
        alert="GpuPodNotMeasured",
        when="the node says that its GPUs are time-sliced",
        series=series(
            dgx(capacity={GPU: 32}, sharing="time-slicing"),
            train(1),
            train(1, name="train-1"),
            devices=sliced("train-0", "train-1", samples=BUSY),
        ),
    ),
    Case(
        alert="GpuNodeWithoutPool",
        when="a node with GPUs has a pool that the program does not know, others have none",
        series=series(
            dgx("stray-1", pool="old"),
            dgx("stray-2", pool="", capacity={SLICE: 7}),
            dgx("stray-3", pool="", capacity={SHARED: 4}),
        ),
        minutes=20,
        fires=tuple(
            Fires(
                labels={"node": f"stray-{number}"},
                sentence=(
                    f"Node stray-{number} has GPUs and belongs to no GPU pool of the program"
                ),
            )
            for number in (1, 2, 3)
        ),
    ),
    Case(
        alert="GpuNodeWithoutPool",
        when="GPU nodes have pools, and nodes without GPUs have others",
        series=series(dgx(), dgx("ccx33-1", pool="cpu", capacity={GPU: 0})),
    ),
    Case(
        alert="GpuNodeWithoutPool",
        when="it has joined ten minutes ago",
        series=series(dgx("stray-1", pool="old")),
        minutes=10,
    ),
)
