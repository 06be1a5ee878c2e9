"""The DCGM exporter's metrics and its scrape, as a block of the GPU Operator's values."""

import hashlib
from dataclasses import dataclass
from typing import Literal

from components.platform.monitoring import promql

SCRAPE_SECONDS = 15
"""Interval of the scrapes, from which the rules know how many samples a full window has."""


@dataclass(frozen=True, kw_only=True)
class DcgmMetric:
    """A line of the exporter's CSV: a DCGM field, the Prometheus type, the help text."""

    field: str
    kind: Literal["gauge", "counter", "label"]
    text: str


def _gauge(field: str, text: str) -> DcgmMetric:
    return DcgmMetric(field=field, kind="gauge", text=text)


METRICS = (
    # what the rules stand on: ratios from 0 to 1 that MIG instances have too, unlike GPU_UTIL
    _gauge(promql.GR_ENGINE_ACTIVE, "Share of time in which the engine is active"),
    _gauge(promql.SM_ACTIVE, "Share of cycles with a warp on a multiprocessor"),
    _gauge(promql.TENSOR_ACTIVE, "Share of cycles in which the tensor pipe is active"),
    _gauge("DCGM_FI_PROF_DRAM_ACTIVE", "Share of cycles in which the memory interface is active"),
    _gauge(promql.LAST_XID, "Code of the last XID"),
    _gauge(promql.XID_COUNT, "XIDs of the last five minutes by code"),
    # what people look at next
    _gauge("DCGM_FI_DEV_FB_USED", "GPU memory in use (MiB)"),
    _gauge("DCGM_FI_DEV_FB_FREE", "GPU memory free (MiB)"),
    _gauge("DCGM_FI_DEV_POWER_USAGE", "Power draw (W)"),
    _gauge(promql.TEMPERATURE, "GPU temperature (C)"),
    _gauge("DCGM_FI_DEV_MEMORY_TEMP", "GPU memory temperature (C)"),
    _gauge("DCGM_FI_DEV_SM_CLOCK", "Clock of the multiprocessors (MHz)"),
    _gauge("DCGM_FI_DEV_ROW_REMAP_FAILURE", "Whether remapping of memory rows has failed"),
    DcgmMetric(
        field="DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL",
        kind="counter",
        text="NVLink bandwidth counters of all lanes",
    ),
    DcgmMetric(field="DCGM_FI_DRIVER_VERSION", kind="label", text="Driver version"),
)


def csv() -> str:
    """Returns the exporter's list of metrics; a comma in a help text would be a fourth field."""
    return "".join(f"{metric.field}, {metric.kind}, {metric.text}\n" for metric in METRICS)


def exporter_values() -> dict[str, object]:
    """Returns the `dcgmExporter` block for the GPU Operator's chart.

    Pod labels stay off: teams and branches are joined from kube-state-metrics, where every pod is
    listed, time-sliced ones too, and the exporter needs no right to read pods.
    """
    metrics = csv()
    return {
        "enabled": True,
        "config": {
            # a new list is a new name, so the exporter's pods are replaced and read it
            "name": f"dcgm-metrics-{hashlib.sha256(metrics.encode()).hexdigest()[:8]}",
            "create": True,
            "data": metrics,
        },
        "serviceMonitor": {
            "enabled": True,
            "interval": f"{SCRAPE_SECONDS}s",
            "scrapeTimeout": "10s",
            "honorLabels": promql.HONOR_LABELS,
            "relabelings": [
                # the exporter's own label was Hostname and became hostname: no rule needs it
                {
                    "action": "replace",
                    "sourceLabels": ["__meta_kubernetes_pod_node_name"],
                    "targetLabel": promql.NODE,
                }
            ],
        },
    }
