"""The dashboard that a desk opens first: what it asked for, what works, what that costs."""

import json

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import VariableOption, VariableRefresh, VariableSort

from components.platform.monitoring.dashboard_rows import rows
from components.platform.monitoring.panels import DATASOURCE

UID = "gpu-fleet"


def _variable(label: str, metric: str) -> builders.QueryVariable:
    return (
        builders.QueryVariable(label)
        .datasource(DATASOURCE)
        .query(f"label_values({metric}, {label})")
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(".*")
        .current(VariableOption(text="All", value="$__all"))
    )


def dashboard_json() -> str:
    """The dashboard as Grafana reads it, with a stable order of keys."""
    board = (
        builders.Dashboard("GPU fleet")
        .uid(UID)
        .readonly()
        .refresh("1m")
        .time("now-6h", "now")
        .with_variable(_variable("pool", "node:gpus:count"))
        .with_variable(_variable("team", "pod:fleet_labels:info"))
    )
    for title, panels in rows():
        board = board.with_row(builders.Row(title))
        for panel in panels:
            board = board.with_panel(panel)
    built = board.build()
    for position, placed in enumerate(built.panels or (), start=1):
        placed.id_val = position  # a link to a panel must outlive a restart of Grafana
    return json.dumps(built, cls=JSONEncoder, sort_keys=True, indent=2)
