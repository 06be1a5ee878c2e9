"""Plans, differences and explanations as tables for people."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fleet.plan.description import GROUPS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fleet.plan.difference import Difference
    from fleet.plan.explanation import Explanation

NOTHING = "\N{EN DASH}"
TITLES = {
    "kernel argument": "Kernel arguments",
    "sysctl": "Sysctls",
    "kubelet": "Kubelet",
    "system": "System",
}


def plan_table(plan: Mapping[str, Any]) -> Group:
    """A described plan: its NUMA nodes, then each line with its reason and source."""
    return Group(*_plan(plan))


def _plan(plan: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield Text(f"{plan['hardware']} for {plan['purpose']}, plan {plan['digest']}", style="bold")
    yield _nodes(plan["numa_nodes"])
    for group in GROUPS:
        rows = [line for line in plan["lines"] if line["group"] == group]
        if rows:
            yield Text(TITLES[group], style="bold")
            yield _lines(rows)
    if plan["unverified"]:
        told = ", ".join(plan["unverified"])
        yield Text(f"Not verified in the catalogue: {told}.", style="yellow")


def _nodes(nodes: Sequence[Mapping[str, Any]]) -> Table:
    table = _table("NUMA node", "Housekeeping", "Workload", "Memory", "Hugepages", "GPUs", "NICs")
    for node in nodes:
        counts = ((node[f"hugepages_{key}"], size) for key, size in _SIZES)
        pages = [f"{count} of {size}" for count, size in counts if count]
        table.add_row(
            str(node["id"]),
            node["housekeeping"],
            node["workload"],
            f"{node['memory_gib']} GiB",
            ", ".join(pages) or NOTHING,
            ", ".join(map(str, node["gpus"])) or NOTHING,
            ", ".join(node["nics"]) or NOTHING,
        )
    return table


_SIZES = (("1gi", "1 GiB"), ("2mi", "2 MiB"))


def _lines(rows: Sequence[Mapping[str, Any]]) -> Table:
    table = _table("Line", "Why")
    table.columns[0].ratio, table.columns[1].ratio = 2, 3
    table.expand = True
    for row in rows:
        table.add_row(_line(row), _why(row["reason"], row["source"]))
    return table


def _line(row: Mapping[str, Any]) -> Text:
    value = "" if row["value"] is None else _JOINTS[row["group"]] + _value(row["value"])
    return Text.assemble((row["key"], "bold"), value, overflow="fold")


_JOINTS = {"kernel argument": "=", "sysctl": " = ", "kubelet": ": ", "system": "="}


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_value(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(_value(item) for item in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _why(reason: str, source: str) -> Text:
    return Text.assemble(reason, "\n", (source, "dim"), overflow="fold")


def difference_table(found: Difference) -> Group:
    """What changes, and what a running node needs for it."""
    return Group(*_difference(found))


def _difference(found: Difference) -> Iterator[RenderableType]:
    told = (f"{plan['hardware']} for {plan['purpose']}" for plan in (found.before, found.after))
    yield Text(" → ".join(told), style="bold")
    if not found.changes:
        yield Text("Nothing changes on a node.")
        return
    table = _table("Line", "Before", "After", "A running node needs")
    for change in found.changes:
        before, after = (
            NOTHING if value is None else _value(value) for value in (change.before, change.after)
        )
        table.add_row(change.key, before, after, change.needs)
    yield table
    arguments = sum(change.needs == "reboot" for change in found.changes)
    plural = "" if arguments == 1 else "s"
    needed = f"yes, {arguments} kernel argument{plural}" if arguments else "no"
    yield Text(f"Reboot needed: {needed}.", style="bold")
    yield Text("Ignition runs at first boot alone: a pool's machines are replaced or reinstalled.")


def explanation_table(found: Sequence[Explanation]) -> Table:
    """Each line with its reason, source, and where it stands."""
    table = _table("Line", "Why", "Where")
    for each in found:
        where = f"{', '.join(each.purposes)}: {', '.join(each.hardware)}"
        table.add_row(_line(asdict(each.line)), _why(each.line.reason, each.line.source), where)
    return table


def _table(*titles: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for title in titles:
        table.add_column(title, overflow="fold")
    return table
