"""Situations in which a machine is not as planned, or seems so."""

from collections.abc import Iterator

from tests.support.monitoring.exporters import Series, Value, placed_pages, steady, then
from tests.support.monitoring.promtool import Fires
from tests.support.monitoring.situations import Case, dgx, series


def checked(node: str, minutes: int = 60, *, last: int | None = None) -> Iterator[Series]:
    """The time of the last check, every five minutes until `last`; the file stays after that."""
    end = minutes if last is None else last
    times: list[tuple[Value, int]] = [(at * 60.0, 5) for at in range(0, end, 5)]
    times.append((end * 60.0, max(1, minutes - end + 1)))
    yield _textfile(node, "fleet_node_check_timestamp_seconds", {}, then(*times))


def drift(node: str, check: str, level: str, samples: tuple[Value, ...]) -> Series:
    """What the check has found."""
    return _textfile(node, "fleet_node_check_drift", {"check": check, "level": level}, samples)


def _textfile(node: str, name: str, labels: dict[str, str], samples: tuple[Value, ...]) -> Series:
    target = {
        "kubernetes_node": node,
        "instance": "10.10.0.11:9100",
        "job": "node-exporter",
        "namespace": "monitoring",
        "pod": "kube-prometheus-stack-prometheus-node-exporter-t5s9x",
        "container": "node-exporter",
        "service": "kube-prometheus-stack-prometheus-node-exporter",
        "endpoint": "http-metrics",
    }
    return Series(name=name, labels={**target, **labels}, samples=samples)


CASES = (
    Case(
        alert="NumaMisses",
        when="two pages of a thousand lie on the other NUMA node",
        series=list(placed_pages("dgx-01", hit=9_980, miss=20)),
        minutes=20,
        fires=(
            Fires(
                labels={"node": "dgx-01"},
                sentence=(
                    "Node dgx-01 placed 0.2% of the new pages of 15 minutes on another NUMA node "
                    "than the one wanted"
                ),
            ),
        ),
    ),
    Case(
        alert="NumaMisses",
        when="one page of two thousand does, or nothing is placed at all",
        series=[
            *placed_pages("dgx-01", hit=9_995, miss=5),
            *placed_pages("dgx-02", hit=0, miss=0),
        ],
    ),
    Case(
        alert="NodeBroken",
        when="a GPU fell off the bus between two checks",
        series=[
            *checked("dgx-01"),
            drift("dgx-01", "gpu-count", "critical", then(("_", 20), (1.0, 40))),
        ],
        minutes=26,
        fires=(
            Fires(
                labels={"node": "dgx-01", "check": "gpu-count"},
                sentence=("Node dgx-01 must not work on; findings of its check gpu-count: 1"),
            ),
        ),
    ),
    Case(
        alert="NodeBroken",
        when="a sysctl differs, or one check alone saw a slow fabric",
        series=[
            *checked("dgx-01"),
            drift("dgx-01", "sysctl", "warning", steady(1)),
            drift("dgx-01", "fabric", "critical", then(("_", 20), (8.0, 5), ("stale", 1))),
        ],
        minutes=30,
    ),
    Case(
        alert="NodeDrift",
        when="two sysctls differ in three checks",
        series=[*checked("dgx-01"), drift("dgx-01", "sysctl", "warning", steady(2))],
        minutes=15,
        fires=(
            Fires(
                labels={"node": "dgx-01", "check": "sysctl"},
                sentence="Node dgx-01 is not as planned; findings of its check sysctl: 2",
            ),
        ),
    ),
    Case(
        alert="NodeDrift",
        when="it was found an hour ago by a check that runs no more, or is not ten minutes old",
        series=[
            *checked("dgx-01", last=5),
            drift("dgx-01", "sysctl", "warning", steady(2)),
            *checked("dgx-02"),
            drift("dgx-02", "sysctl", "warning", then(("_", 55), (2.0, 5))),
        ],
        minutes=60,
    ),
    Case(
        alert="NodeCheckMissing",
        when="the check of one node of two stopped",
        series=series(dgx(), dgx("dgx-02"), more=[*checked("dgx-01", last=5), *checked("dgx-02")]),
        minutes=60,
        fires=(
            Fires(
                labels={"node": "dgx-01"},
                sentence="Nobody knows whether node dgx-01 is as planned",
            ),
        ),
    ),
    Case(
        alert="NodeCheckMissing",
        when="it runs, the node is down, belongs to no pool, or has come ten minutes ago",
        series=series(
            dgx(),
            dgx("dgx-02", ready=False),
            dgx("control-1", pool=""),
            dgx("new-1", there=then(("_", 50), (1.0, 11))),
            more=checked("dgx-01"),
        ),
        minutes=60,
    ),
)
