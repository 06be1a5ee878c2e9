"""The dashboard that a desk opens first: GPUs that are asked for, that work, and their cost."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from string import ascii_uppercase
from typing import TypeVar

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, table, timeseries
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.common import StackingMode
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from components.platform.monitoring.values import DATASOURCE_UID

UID = "gpu-fleet"
DATASOURCE = models.DataSourceRef(type_val="prometheus", uid=DATASOURCE_UID)
USD, RATIO, COUNT = "currencyUSD", "percentunit", "short"

_Panel = TypeVar("_Panel", stat.Panel, table.Panel, timeseries.Panel)

Panels = tuple[Builder[models.Panel], ...]

OFFENDERS = 20
"""Rows of the longest tables."""

_POOL = 'pool=~"$pool"'
_TEAM = 'team=~"$team"'
_BOTH = f"{_POOL},{_TEAM}"
_IDLE_USD = f"pod:gpus_idle:sum{{{_BOTH}}} * on (pool) group_left () pool:usd_per_gpu_hour:price"
_WORST = f"and on (namespace, pod) topk({OFFENDERS}, pod:gpus_idle:sum{{{_BOTH}}} > 0)"
_BY_POD = "by (namespace, pod)"
_JOINED = "* on (namespace, pod) group_left (team) pod:fleet_labels:info"


def dashboard_json() -> str:
    """Returns the dashboard as JSON for Grafana, with a stable order of keys."""
    board = (
        dashboard.Dashboard("GPU fleet")
        .uid(UID)
        .readonly()
        .refresh("1m")
        .time("now-6h", "now")
        .with_variable(_variable("pool", "node:gpus:count"))
        .with_variable(_variable("team", "pod:fleet_labels:info"))
    )
    for title, panels in _rows():
        board = board.with_row(dashboard.Row(title))
        for panel in panels:
            board = board.with_panel(panel)
    built = board.build()
    for position, placed in enumerate(built.panels or (), start=1):
        placed.id_val = position  # a link to a panel must outlive a restart of Grafana
    return json.dumps(built, cls=JSONEncoder, sort_keys=True, indent=2)


def _variable(label: str, metric: str) -> dashboard.QueryVariable:
    return (
        dashboard.QueryVariable(label)
        .datasource(DATASOURCE)
        .query(f"label_values({metric}, {label})")
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(".*")
        .current(models.VariableOption(text="All", value="$__all"))
    )


def _numbers() -> Panels:
    def figure(title: str, why: str) -> Place:
        return Place(title=title, why=why, width=4, height=4)

    return (
        number(
            figure("GPUs", "By the hardware catalogue, on nodes that have joined"),
            f"sum(node:gpus:count{{{_POOL}}})",
        ),
        number(
            figure("Asked for", "GPUs that running pods keep from others"),
            f"sum(pod:gpus_held:sum{{{_BOTH}}}) or vector(0)",
        ),
        number(
            figure("Asked for and idle", "Of these, worked for less than 5% of half an hour"),
            f"sum(pod:gpus_idle:sum{{{_BOTH}}}) or vector(0)",
            warn_above=1,
        ),
        number(
            figure("Waited for", "GPUs and MIG instances that pending pods ask for"),
            f"sum(pod:gpu_waiting:sum{{{_TEAM}}}) or vector(0)",
        ),
        number(
            figure("USD per hour", "What the pools' GPU machines cost, used or not"),
            f"sum(pool:gpu_usd_per_hour:sum{{{_POOL}}})",
            unit=USD,
        ),
        number(
            figure("Idle USD per hour", "What GPUs cost that are asked for and idle"),
            f"sum({_IDLE_USD}) or vector(0)",
            unit=USD,
            warn_above=10,
        ),
    )


def _shares() -> Panels:
    pools = listing(
        Place(title="Pools", why="Free: nobody asks for it. Idle: asked for.", width=12, height=8),
        {
            "GPUs": f"sum by (pool) (node:gpus:count{{{_POOL}}})",
            "asked for": f"sum by (pool) (pod:gpus_held:sum{{{_POOL}}})",
            "working": f"sum by (pool) (node:gpus_active:sum{{{_POOL}}})",
            "idle": f"sum by (pool) (pod:gpus_idle:sum{{{_POOL}}})",
            "free": f"sum by (pool) (node:gpus:count{{{_POOL}}}) - on (pool) "
            f"(sum by (pool) (pod:gpus_held:sum{{{_POOL}}}) "
            f"or 0 * sum by (pool) (node:gpus:count{{{_POOL}}}))",
            "USD per hour": f"sum by (pool) (pool:gpu_usd_per_hour:sum{{{_POOL}}})",
        },
        sort="USD per hour",
    )
    teams = listing(
        Place(title="Teams", why="By the pods' label fleet.gpu/team", width=12, height=8),
        {
            "asked for": f"sum by (team) (pod:gpus_held:sum{{{_BOTH}}})",
            "working": f"sum by (team) (pod:gpus_active:sum{{{_BOTH}}})",
            "idle": f"sum by (team) (pod:gpus_idle:sum{{{_BOTH}}})",
            "waited for": f"sum by (team) (pod:gpu_waiting:sum{{{_TEAM}}})",
            "USD per hour": f"sum by (team) (pod:gpu_usd_per_hour:sum{{{_BOTH}}})",
            "idle USD per hour": f"sum by (team) ({_IDLE_USD})",
        },
        sort="USD per hour",
    )
    return pools, teams


def _courses() -> Panels:
    held = lines(
        Place(title="GPUs by team", why="Held by running pods", width=8, height=8),
        {"{{team}}": f"sum by (team) (pod:gpus_held:sum{{{_BOTH}}})"},
        stacked=True,
    )
    cost = lines(
        Place(title="USD per hour by team", why="Of running pods", width=8, height=8),
        {"{{team}}": f"sum by (team) (pod:gpu_usd_per_hour:sum{{{_BOTH}}})"},
        unit=USD,
        stacked=True,
    )
    busy = lines(
        Place(
            title="How busy held GPUs are",
            why="Any kernel keeps the engine busy; multiprocessors and tensor cores tell how well",
            width=8,
            height=8,
        ),
        {
            "engine": f"avg(gpu:gr_engine_active:avg30m {_JOINED}{{{_TEAM}}})",
            "multiprocessors": f"avg(gpu:sm_active:avg30m {_JOINED}{{{_TEAM}}})",
            "tensor cores": f"avg(gpu:tensor_active:avg30m {_JOINED}{{{_TEAM}}})",
        },
        unit=RATIO,
    )
    return held, cost, busy


def _offenders() -> Panels:
    pods = listing(
        Place(
            title="GPUs asked for and not used",
            why="1 of 8: asked for by the pod, working, and the USD that the rest cost",
            width=14,
            height=9,
        ),
        {
            "GPUs idle": f"sum by (namespace, pod, team) (pod:gpus_idle:sum{{{_BOTH}}}) {_WORST}",
            "asked for": f"sum {_BY_POD} (pod:gpu_requested:sum) {_WORST}",
            "working": f"sum {_BY_POD} (pod:gpu_active:count) {_WORST}",
            "multiprocessors": f'avg {_BY_POD} (gpu:sm_active:avg30m{{pod!=""}}) {_WORST}',
            "idle USD per hour": f"sum {_BY_POD} ({_IDLE_USD}) {_WORST}",
        },
        sort="idle USD per hour",
    )
    branches = listing(
        Place(
            title="Backtest branches",
            why="An alarm goes off at 100 USD within 30 days",
            width=10,
            height=9,
        ),
        {
            "USD in 30 days": f"topk({OFFENDERS}, branch:gpu_usd:sum30d)",
            "USD per hour": "branch:gpu_usd_per_hour:sum",
        },
        sort="USD in 30 days",
    )
    return pods, branches


def _queue() -> Panels:
    waiting = lines(
        Place(
            title="GPUs waited for by team",
            why="GPUs and MIG instances of pending pods",
            width=12,
            height=7,
        ),
        {"{{team}}": f"sum by (team) (pod:gpu_waiting:sum{{{_TEAM}}})"},
        stacked=True,
    )
    groups = lines(
        Place(
            title="Jobs by queue",
            why="PodGroups of Volcano's queues: pending ones are over their namespace's quota, "
            "those inqueue wait for machines for their whole gang",
            width=12,
            height=7,
        ),
        {
            f"{{{{queue_name}}}} {state}": "max by (queue_name) "
            f'(volcano_queue_pod_group_{state}_count{{queue_name!~"root|default"}})'
            for state in ("pending", "inqueue", "running")
        },
    )
    return waiting, groups


def _machines() -> Panels:
    misses = lines(
        Place(
            title="NUMA misses",
            why="Share of new pages on another NUMA node than the one wanted",
            width=8,
            height=7,
        ),
        {"{{node}}": "node:numa_miss:ratio5m"},
        unit=RATIO,
    )
    moved = lines(
        Place(
            title="Pages moved between NUMA nodes",
            why="Per second; a tuned node moves none (numa_balancing=disable)",
            width=8,
            height=7,
        ),
        {"{{node}}": "node:numa_pages_migrated:rate5m"},
    )
    xids = listing(
        Place(
            title="XIDs",
            why="Codes that GPUs have just reported, or reported last",
            width=8,
            height=7,
        ),
        {"seen": "gpu:xid:seen"},
        sort="node",
        hide=("UUID", "Value"),
    )
    return misses, moved, xids


def _rows() -> tuple[tuple[str, Panels], ...]:
    """The rows: their titles and panels, the most important first."""
    return (
        ("Now", _numbers()),
        ("Who has what", _shares()),
        ("Over time", _courses()),
        ("Worst offenders", _offenders()),
        ("Queue", _queue()),
        ("Machines", _machines()),
    )


@dataclass(frozen=True, kw_only=True)
class Place:
    """A panel's title, its help text `why`, its width of 24 columns and its height."""

    title: str
    why: str
    width: int
    height: int


def _placed(panel: _Panel, place: Place) -> _Panel:
    titled = panel.title(place.title).description(place.why).datasource(DATASOURCE)
    return titled.span(place.width).height(place.height)


def number(
    place: Place, expr: str, *, unit: str = COUNT, warn_above: float | None = None
) -> stat.Panel:
    """Returns a panel with one figure and its course; orange above `warn_above`."""
    steps = [models.Threshold(color="green", value=None)]
    if warn_above is not None:
        steps.append(models.Threshold(color="orange", value=warn_above))
    colours = dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(steps)
    panel = _placed(stat.Panel(), place).thresholds(colours).unit(unit).decimals(1)
    return panel.with_target(prometheus.Dataquery().ref_id("A").expr(expr).range())


def lines(
    place: Place, queries: Mapping[str, str], *, unit: str = COUNT, stacked: bool = False
) -> timeseries.Panel:
    """Returns a panel with courses over time; `queries` is legend -> expression."""
    panel = _placed(timeseries.Panel(), place).unit(unit).min(0)
    if stacked:
        panel = panel.stacking(common.StackingConfig().mode(StackingMode.NORMAL)).fill_opacity(40)
    for ref, (legend, expr) in zip(ascii_uppercase, queries.items(), strict=False):
        query = prometheus.Dataquery().ref_id(ref).expr(expr).range().legend_format(legend)
        panel = panel.with_target(query)
    return panel


def listing(
    place: Place, columns: Mapping[str, str], *, sort: str, hide: tuple[str, ...] = ()
) -> table.Panel:
    """Returns a table of the present values; `columns` is column -> expression.

    Columns with USD in their name are money. `hide` names labels that are not shown.
    """
    order = common.TableSortByFieldState().display_name(sort).desc(True)
    panel = _placed(table.Panel(), place).decimals(1).sort_by([order])
    panel = panel.override_by_regexp("USD", [models.DynamicConfigValue(id_val="unit", value=USD)])
    shown = {}
    for ref, (column, expr) in zip(ascii_uppercase, columns.items(), strict=False):
        query = prometheus.Dataquery().ref_id(ref).expr(expr).instant()
        panel = panel.with_target(query.format(PromQueryFormat.TABLE))
        shown["Value" if len(columns) == 1 else f"Value #{ref}"] = column
    arrange = {"renameByName": shown, "excludeByName": dict.fromkeys(("Time", *hide), True)}
    merge = models.DataTransformerConfig(id_val="merge", options={})
    organize = models.DataTransformerConfig(id_val="organize", options=arrange)
    return panel.with_transformation(merge).with_transformation(organize)
