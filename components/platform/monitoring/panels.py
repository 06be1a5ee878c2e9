"""The three shapes of panel that the dashboard uses, over grafana-foundation-sdk."""

from collections.abc import Mapping
from dataclasses import dataclass
from string import ascii_uppercase
from typing import TypeVar

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, table, timeseries
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models.common import StackingMode
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from components.platform.monitoring.values import DATASOURCE_UID

DATASOURCE = models.DataSourceRef(type_val="prometheus", uid=DATASOURCE_UID)
USD, RATIO, COUNT = "currencyUSD", "percentunit", "short"

_Panel = TypeVar("_Panel", stat.Panel, table.Panel, timeseries.Panel)


@dataclass(frozen=True, kw_only=True)
class Place:
    """A panel's title, what it tells (its help text), its width of 24 columns and its height."""

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
    """One figure with its course; orange above `warn_above`."""
    steps = [models.Threshold(color="green", value=None)]
    if warn_above is not None:
        steps.append(models.Threshold(color="orange", value=warn_above))
    colours = dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(steps)
    panel = _placed(stat.Panel(), place).thresholds(colours).unit(unit).decimals(1)
    return panel.with_target(prometheus.Dataquery().ref_id("A").expr(expr).range())


def lines(
    place: Place, queries: Mapping[str, str], *, unit: str = COUNT, stacked: bool = False
) -> timeseries.Panel:
    """A course over time: legend -> expression."""
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
    """The present values: column -> expression; rows with the same labels are one row.

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
