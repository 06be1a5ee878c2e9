"""The real Prometheus loads every rule, and answers every question of the dashboard."""

import json
import math
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from components.platform.monitoring.alerts import groups
from components.platform.monitoring.dashboard import dashboard_json
from tests.conformance.monitoring.exporters import (
    Device,
    Series,
    activity,
    last_xid,
    placed_pages,
    pod_groups,
    steady,
    xid_count,
)
from tests.conformance.monitoring.objects import Pod
from tests.conformance.monitoring.promtool import LIMITS, POOLS, rule_text
from tests.conformance.monitoring.server import Server, fill, serving
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


def fleet() -> list[Series]:
    """A morning of a small fleet: whole GPUs, MIG, time slices, work that waits, a broken GPU."""
    risk = {**QUANTS, "fleet.gpu/team": "risk", "fleet.gpu/branch": "bt-20261121-b2"}
    slices = [
        Device(node="dgx-02", index=0, pod="note-0", profile="1g.18gb", instance=str(number))
        for number in (7, 8)
    ]
    train = gang("train-0")
    devices = {
        **dict(zip(train, [BUSY, *[IDLE] * 7], strict=True)),
        **dict(zip(slices, [BUSY, IDLE], strict=True)),
        **dict.fromkeys(gang("serve-0", node="dgx-03", gpus=1), BUSY),
        **dict.fromkeys(gang("grid-0", node="p5e-1"), BUSY),
    }
    return series(
        dgx(),
        dgx("dgx-02", capacity={GPU: 0, SLICE: 56}),
        dgx("dgx-03", capacity={GPU: 32}, sharing="time-slicing"),
        dgx("p5e-1", pool="burst"),
        Pod(name="train-0", node="dgx-01", requests={GPU: 8}, labels=QUANTS),
        Pod(name="note-0", node="dgx-02", requests={SLICE: 2}, labels=risk),
        Pod(name="serve-0", node="dgx-03", requests={GPU: 1}, labels=risk),
        Pod(name="grid-0", node="p5e-1", requests={GPU: 8}, labels=risk),
        Pod(name="next-0", phase="Pending", requests={GPU: 8}, labels=QUANTS),
        devices=devices,
        more=[
            *activity(train, steady(0.4), "SM_ACTIVE"),
            *activity(train, steady(0.2), "PIPE_TENSOR_ACTIVE"),
            last_xid(train[3], steady(79)),
            xid_count(train[0], 31, steady(1)),
            *placed_pages("dgx-01", hit=9_000, miss=90),
            *pod_groups("research", pending=1, inqueue=0, running=3),
        ],
    )


@pytest.fixture(scope="module")
def server(prometheus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("prometheus")
    fill(prometheus / "promtool", folder, fleet())
    # a minute between two evaluations is for clusters; what the rules say stays as it is
    rules = rule_text().replace("interval: 60s", "interval: 1s")
    with serving(prometheus / "prometheus", folder, rules) as running:
        yield running


def questions() -> list[tuple[str, str]]:
    """Panel and expression of every query, for all pools and teams, without its 0 for nothing."""
    return [
        (panel["title"], re.sub(r"\$(pool|team)", ".*", query["expr"]).replace(" or vector(0)", ""))
        for panel in json.loads(dashboard_json())["panels"]
        for query in panel.get("targets", [])
    ]


def has_data(result: list[dict[str, object]]) -> bool:
    """Whether there is a series, and none that is no number."""
    values = [float(each["value"][1]) for each in result]  # type: ignore[index]  # Prometheus' JSON
    return bool(values) and not any(map(math.isnan, values))


def test_every_rule_is_loaded_and_evaluated_without_an_error(server: Server) -> None:
    rules = server.eventually(
        server.rules, lambda found: all(rule["health"] != "unknown" for rule in found)
    )
    assert len(rules) == sum(len(group.rules) for group in groups(POOLS, LIMITS))
    assert {rule["name"]: rule.get("lastError") for rule in rules if rule["health"] != "ok"} == {}


def test_every_recording_rule_finds_something_in_the_test_fleet(server: Server) -> None:
    for rule in server.rules():
        if rule["type"] == "recording":
            name = str(rule["name"])
            assert has_data(server.eventually(partial(server.query, name), has_data)), name


@pytest.mark.parametrize(("panel", "expr"), questions())
def test_every_query_of_the_dashboard_returns_data(panel: str, expr: str, server: Server) -> None:
    assert has_data(server.eventually(partial(server.query, expr), has_data)), panel


def test_the_dashboards_variables_have_values(server: Server) -> None:
    found = {}
    for variable in json.loads(dashboard_json())["templating"]["list"]:
        query = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"])
        assert query is not None, variable["query"]
        ask = partial(server.label_values, query[2], query[1])
        found[variable["name"]] = server.eventually(ask, bool)
    assert found == {"pool": ["burst", "dgx"], "team": ["quants", "risk"]}


def test_an_alert_reaches_the_list_of_alerts(server: Server) -> None:
    expr = 'ALERTS{alertname="GpuHardwareXid", alertstate="firing"}'
    (alert,) = server.eventually(partial(server.query, expr), bool)
    assert alert["metric"]["xid"] == "79"  # type: ignore[index]  # Prometheus' JSON
