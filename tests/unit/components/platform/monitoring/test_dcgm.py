"""The DCGM exporter's list of metrics, and its share of the GPU Operator's values."""

import csv
import io
from typing import Any

import pytest

from components.platform.monitoring import dcgm, promql
from components.platform.monitoring.usage import ENOUGH_SAMPLES, WINDOW_MINUTES


def values() -> dict[str, Any]:
    return dcgm.exporter_values()


def test_every_line_of_the_list_has_the_three_fields_that_the_exporter_reads() -> None:
    lines = list(csv.reader(io.StringIO(dcgm.csv())))
    assert [line[0] for line in lines] == [metric.field for metric in dcgm.METRICS]
    for line in lines:
        assert len(line) == 3, line
        assert line[1].strip() in {"gauge", "counter", "label"}


def test_metrics_that_nvidia_leaves_out_are_in_the_list() -> None:
    fields = {metric.field for metric in dcgm.METRICS}
    assert {promql.SM_ACTIVE, promql.TENSOR_ACTIVE, promql.XID_COUNT} <= fields


def test_a_new_list_is_a_new_config_map(monkeypatch: pytest.MonkeyPatch) -> None:
    before = values()["config"]["name"]
    monkeypatch.setattr(dcgm, "METRICS", dcgm.METRICS[:-1])
    assert values()["config"]["name"] != before


def test_the_monitor_says_what_the_rules_expect_of_a_series() -> None:
    monitor = values()["serviceMonitor"]
    assert monitor["honorLabels"] is promql.HONOR_LABELS
    assert monitor["interval"] == f"{dcgm.SCRAPE_SECONDS}s"
    assert [relabeling["targetLabel"] for relabeling in monitor["relabelings"]] == [promql.NODE]


def test_a_third_of_the_window_is_enough_for_a_verdict() -> None:
    assert ENOUGH_SAMPLES * dcgm.SCRAPE_SECONDS * 3 == WINDOW_MINUTES * 60
