"""Situations in which GPUs idle, or seem to."""

from components.platform.monitoring.idle_alerts import IdleLimits
from tests.support.monitoring.exporters import GAP, STALE, steady, then
from tests.support.monitoring.promtool import Fires
from tests.support.monitoring.situations import (
    BUSY,
    GPU,
    IDLE,
    NODE,
    OWNER,
    SLICE,
    TRAIN,
    Case,
    dgx,
    gang,
    held,
    instances,
    series,
    sliced,
    train,
)

FOUR = ("train-0", "train-1", "train-2", "train-3")

POD_IDLE = "research/train-0 of team quants holds {} GPUs and has used none for 30 minutes"
POD_FEW = "research/train-0 of team quants uses {} of the {} GPUs that it asked for"
NODE_ALLOCATED = "Pods hold {} GPUs of node dgx-01 (dgx) and none has worked for 30 minutes"

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
        alert="GpuNodeIdle",
        when="an hour is allowed and forty minutes have passed",
        series=series(dgx(), devices=dict.fromkeys(gang(""), IDLE)),
        minutes=40,
        limits=IdleLimits(node_minutes=60, job_minutes=30),
    ),
    Case(
        alert="GpuNodeIdle",
        when="five minutes are allowed and the node has been there for twenty-two",
        series=series(dgx(there=steady(1, minutes=22))),
        minutes=22,
        fires=(Fires(labels=NODE, sentence="Nobody asks for the 8 GPUs of node dgx-01 (dgx)"),),
        limits=IdleLimits(node_minutes=5, job_minutes=30),
    ),
    Case(
        alert="GpuNodeAllocatedButIdle",
        when="its GPUs are all held and none works",
        series=series(
            dgx(),
            train(4),
            train(4, name="train-1"),
            devices=dict.fromkeys([*gang("train-0")[:4], *gang("train-1")[4:]], IDLE),
        ),
        fires=(Fires(labels=NODE, sentence=NODE_ALLOCATED.format(8)),),
    ),
    Case(
        alert="GpuNodeAllocatedButIdle",
        when="that has been known for ten minutes",
        series=series(dgx(), train(), devices=held("train-0", *[IDLE] * 8)),
        minutes=20,
    ),
    Case(
        alert="GpuNodeAllocatedButIdle",
        when="four pods share a time-sliced GPU, of which the exporter names one at each scrape",
        series=series(
            dgx(capacity={GPU: 32}, sharing="time-slicing"),
            *(train(1, name=each) for each in FOUR),
            devices=sliced(*FOUR, samples=IDLE),
        ),
        fires=(Fires(labels=NODE, sentence=NODE_ALLOCATED.format(1)),),
    ),
    Case(
        alert="GpuNodeAllocatedButIdle",
        when="that GPU works for one of them",
        series=series(
            dgx(capacity={GPU: 32}, sharing="time-slicing"),
            *(train(1, name=each) for each in FOUR),
            devices=sliced(*FOUR, samples=BUSY),
        ),
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
        when="none of its eight GPUs works, and ninety minutes are allowed",
        series=series(dgx(), train(), devices=held("train-0", *[IDLE] * 8)),
        limits=IdleLimits(node_minutes=15, job_minutes=90),
    ),
    Case(
        alert="GpuPodIdle",
        when="none of its eight GPUs works, and forty minutes are allowed",
        series=series(dgx(), train(), devices=held("train-0", *[IDLE] * 8)),
        fires=(
            Fires(
                labels={**TRAIN, "node": "dgx-01", **OWNER},
                sentence=POD_IDLE.format(8).replace("30", "40"),
            ),
        ),
        limits=IdleLimits(node_minutes=15, job_minutes=40),
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
        when="it shares a time-sliced GPU, and two names have stood at it",
        series=series(
            dgx(capacity={GPU: 32}, sharing="time-slicing"),
            *(train(1, name=each) for each in FOUR[:2]),
            devices=sliced(*FOUR[:2], samples=IDLE),
        ),
    ),
    Case(
        alert="GpuPodIdle",
        when="its first half hour is over and it has been idle since",
        series=series(dgx(), train(1, started=0), devices=held("train-0", IDLE)),
        minutes=40,
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
        when="its first half hour is over and one of eight has worked since",
        series=series(dgx(), train(started=0), devices=held("train-0", BUSY, *[IDLE] * 7)),
        minutes=45,
    ),
    Case(
        alert="GpuPodUsesFewOfItsGpus",
        when="the exporter tells of one of the eight alone",
        series=series(dgx(), train(), devices=held("train-0", BUSY)),
    ),
)
