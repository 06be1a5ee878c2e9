"""Plans, differences and explanations as tables for people."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from engine.console import behind
from engine.tables import Widest, table
from fleet.plan.description import GROUPS
from fleet.plan.difference import Difference
from fleet.plan.explanation import Explanation
from hardware.cpuset import format_list

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
    yield Text()
    yield _nodes(plan["numa_nodes"])
    yield Text()
    for group in GROUPS:
        rows = [line for line in plan["lines"] if line["group"] == group]
        if rows:
            yield Text(TITLES[group], style="bold")
            yield from _lines(rows)
            yield Text()
    if plan["unverified"]:
        doubts = ", ".join(plan["unverified"])
        yield Text(f"Unverified catalogue data: {doubts}.", style="yellow")


def _nodes(nodes: Sequence[Mapping[str, Any]]) -> Table:
    made = table(
        *("NUMA", "Housekeeping", "Workload", "Memory", "Hugepages", "GPUs", "NICs"),
        whole=("Housekeeping", "Workload", "Memory", "GPUs"),
    )
    for node in nodes:
        counts = ((node[f"hugepages_{key}"], size) for key, size in _SIZES)
        pages = [f"{count} of {size}" for count, size in counts if count]
        made.add_row(
            str(node["id"]),
            node["housekeeping"],
            node["workload"],
            f"{node['memory_gib']} GiB",
            ", ".join(pages) or NOTHING,
            format_list(node["gpus"]) or NOTHING,
            ", ".join(node["nics"]) or NOTHING,
        )
    return made


_SIZES = (("1gi", "1 GiB"), ("2mi", "2 MiB"))


def _lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    for row in rows:
        yield Padding(_line(row), (0, 0, 0, 2))
        yield from _why(row)


def _line(row: Mapping[str, Any]) -> Text:
    value = "" if row["value"] is None else _JOINTS[row["group"]] + _value(row["value"])
    return Text.assemble((row["key"], "bold"), value)


_JOINTS = {"kernel argument": "=", "sysctl": " = ", "kubelet": ": ", "system": "="}


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_value(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(_value(item) for item in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _why(row: Mapping[str, Any]) -> Iterator[RenderableType]:
    """The reason of a line, and its source in one piece, so that it can be clicked and copied."""
    yield Padding(Text(row["reason"]), (0, 0, 0, 6))
    yield Text(f"      {row['source']}", style="dim", no_wrap=True, overflow="ignore")


def difference_table(found: Difference) -> Group:
    """The lines that differ, and what a running node needs for each."""
    return Group(*_difference(found))


def _difference(found: Difference) -> Iterator[RenderableType]:
    plans = (f"{plan['hardware']} for {plan['purpose']}" for plan in (found.before, found.after))
    yield Text(" → ".join(plans), style="bold")
    yield Text()
    if not found.changes:
        yield Text("Nothing changes on a node.")
        return
    made = table("Line", "Before", "After", "A running node needs")
    for change in found.changes:
        before, after = (
            NOTHING if value is None else _value(value) for value in (change.before, change.after)
        )
        made.add_row(change.key, before, after, change.needs)
    yield Widest([made, Group(*_one_below_the_other(found))])
    yield Text()
    arguments = sum(change.needs == "reboot" for change in found.changes)
    plural = "" if arguments == 1 else "s"
    needed = f"yes, {arguments} kernel argument{plural}" if arguments else "no"
    yield Text(f"Reboot needed: {needed}.", style="bold")
    yield Text("Ignition runs at first boot only: a pool's machines are replaced or reinstalled.")


def _one_below_the_other(found: Difference) -> Iterator[RenderableType]:
    """The same for a narrow screen, on which no value stands beside another."""
    for change in found.changes:
        before, after = (
            NOTHING if value is None else _value(value) for value in (change.before, change.after)
        )
        yield Text.assemble((change.key, "bold"), f": a running node needs {change.needs}")
        yield behind("  before", "dim", Text(before))
        yield behind("  after ", "dim", Text(after))


def explanation_lines(found: Sequence[Explanation]) -> Group:
    """Each line with its reason, source, and the plans that have it."""
    return Group(*_explained(found))


def _explained(found: Sequence[Explanation]) -> Iterator[RenderableType]:
    for each in found:
        row = asdict(each.line)
        yield Padding(_line(row), (0, 0, 0, 2))
        yield from _why(row)
        where = f"In plans for {', '.join(each.purposes)}, of {', '.join(each.hardware)}."
        yield Padding(Text(where), (0, 0, 1, 6))
