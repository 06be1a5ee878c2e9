"""Situations in which a branch costs too much or a machine is not well, or seem so."""

from dataclasses import replace

from tests.support.monitoring.exporters import (
    GAP,
    STALE,
    Series,
    last_xid,
    steady,
    then,
    xid_count,
)
from tests.support.monitoring.promtool import Fires
from tests.support.monitoring.situations import (
    GPU0,
    QUANTS,
    TRAIN,
    Case,
    dgx,
    gang,
    instances,
    series,
    train,
)

_END_OF_DAY_40 = Series(
    name="fleet:support_end:timestamp",
    labels={"version": "Kubernetes 1.36"},
    samples=steady(40 * 86400),
)
_END_OF_DAY_70 = replace(_END_OF_DAY_40, samples=steady(70 * 86400))

CASES = (
    Case(
        alert="VersionEnds",
        when="the last day of a version is forty days away",
        series=[_END_OF_DAY_40],
        minutes=10,
        fires=(
            Fires(
                labels={"version": "Kubernetes 1.36"},
                sentence="Kubernetes 1.36 gets its last fix within 39d 23h 50m 0s",
            ),
        ),
    ),
    Case(
        alert="VersionEnds",
        when="its last day is over",
        series=[replace(_END_OF_DAY_40, samples=steady(60))],
        minutes=10,
        fires=(
            Fires(
                labels={"version": "Kubernetes 1.36"},
                sentence="Kubernetes 1.36 gets no fixes any more",
            ),
        ),
    ),
    Case(
        alert="VersionEnds",
        when="it is seventy days away",
        series=[_END_OF_DAY_70],
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
        when="it is over the limit and pauses between two jobs",
        series=series(
            dgx("p5e-1", pool="burst", there=steady(1, minutes=110)),
            train(node="p5e-1", there=then((1.0, 40), (STALE, 1))),
        ),
        minutes=70,
        fires=(
            Fires(
                labels={"branch": "bt-20261120-a1"},
                sentence=(
                    "Backtest bt-20261120-a1 has cost 160 USD in GPUs within 30 days and goes on"
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
        when="the GPU was reset hours ago, and the gauge still has the code",
        series=[last_xid(gang("train-0")[0], then((0.0, 10), (79.0, 180)))],
        minutes=100,
    ),
    Case(
        alert="GpuHardwareXid",
        when="another pod got the GPU that showed the code before",
        series=[
            last_xid(gang("train-0")[0], then((0.0, 5), (79.0, 85), (STALE, 1))),
            last_xid(gang("train-1")[0], then((GAP, 90), (79.0, 60))),
        ],
        minutes=120,
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
            xid_count(gang("train-0")[2], None, steady(0)),
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
        when="the GPU is time-sliced, and the exporter names one of its pods",
        series=series(
            dgx(sharing="time-slicing"),
            more=[xid_count(gang("train-0")[0], 31, then((GAP, 10), (2.0, 5), (STALE, 1)))],
        ),
        minutes=12,
        fires=(
            Fires(
                labels={**GPU0, "xid": "31"},
                sentence="A job on GPU 0 of node dgx-01 got XID 31",
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
)
