"""Writes the findings for node exporter's textfile collector."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from workloads.node_check.drift import Drift
from workloads.node_check.plan import Plan

FILE = "fleet-node-check.prom"


def exposition(plan: Plan | None, drifts: Sequence[Drift], at: float) -> str:
    """Returns Prometheus' text format; `at` is the time of the check in seconds since 1970."""
    return "".join(f"{line}\n" for line in _lines(plan, drifts, at))


def _lines(plan: Plan | None, drifts: Sequence[Drift], at: float) -> Iterator[str]:
    yield "# HELP fleet_node_check_timestamp_seconds When the machine was last checked."
    yield "# TYPE fleet_node_check_timestamp_seconds gauge"
    yield f"fleet_node_check_timestamp_seconds {at:.0f}"
    if plan is not None:
        labels = {"hardware": plan.hardware, "purpose": plan.purpose, "numa_plan": plan.digest}
        yield "# HELP fleet_node_check_plan_info The plan that the machine is held to."
        yield "# TYPE fleet_node_check_plan_info gauge"
        yield f"fleet_node_check_plan_info{_labels(labels)} 1"
    yield "# HELP fleet_node_check_drift Places where the machine is not as planned."
    yield "# TYPE fleet_node_check_drift gauge"
    counted: dict[tuple[str, str], int] = {}
    for drift in drifts:
        level = "critical" if drift.critical else "unverified" if drift.unverified else "warning"
        key = drift.check, level
        counted[key] = counted.get(key, 0) + 1
    for (check, severity), number in sorted(counted.items()):
        yield f"fleet_node_check_drift{_labels({'check': check, 'level': severity})} {number}"
    yield "# HELP fleet_node_check_drifts All but the unverified; 0 is as planned."
    yield "# TYPE fleet_node_check_drifts gauge"
    yield f"fleet_node_check_drifts {sum(not drift.unverified for drift in drifts)}"


def _labels(labels: dict[str, str]) -> str:
    def escaped(value: str) -> str:
        return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    return "{" + ",".join(f'{key}="{escaped(value)}"' for key, value in labels.items()) + "}"


def write(folder: Path, text: str) -> None:
    """Replaces the file at once, readable by node exporter, which runs as nobody."""
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f".{FILE}.new"
    unfinished.write_text(text)
    unfinished.chmod(0o644)
    os.replace(unfinished, folder / FILE)
