"""Implements `fleet boot`: simulates a first boot and shows the Node or the problems."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Group
from rich.markup import escape
from rich.text import Text

from engine.tables import table
from hardware.catalogue import HardwareError, load
from ignition.boot.node import Booted, BootedNode, boot


class BootInputError(ValueError):
    """A file or a name is not usable; the message is one sentence."""


def booted(text: str, hardware: str, fetched: Mapping[str, bytes]) -> Booted:
    """Boots a machine of the catalogue; raises BootInputError if text or name is not usable.

    `fetched` maps each URL to the content that the machine would download.
    """
    try:
        machine = load(hardware)
    except HardwareError as error:
        raise BootInputError(str(error)) from error
    try:
        json.loads(text)
    except ValueError as error:
        raise BootInputError(f"the file is not JSON ({error}); give the final Ignition") from error

    def fetch(url: str) -> bytes:
        if url not in fetched:
            raise LookupError(f"what lies there is given as --fetch {url}=FILE")
        return fetched[url]

    return boot(text, machine, fetch=fetch)


def as_json(found: Booted) -> dict[str, Any]:
    """The result for `--json`."""
    return {
        "role": found.role,
        "node": None if found.node is None else asdict(found.node),
        "problems": list(found.problems),
        "unchecked": list(found.unchecked),
    }


def booted_table(found: Booted, hardware: str) -> Group:
    """Renders the Node or its problems as a table."""
    if found.problems:
        return _problems(found, hardware)
    shown = table("", "")
    if found.node is None:
        shown.add_row("node", "none: a gateway is no node of the cluster")
    for name, value in _rows(found.node) if found.node else []:
        shown.add_row(name, escape(value))
    for what in found.unchecked:
        shown.add_row("not checked", escape(what))
    return Group(Text(f"{hardware} comes up as {found.role}", style="bold"), shown)


def _problems(found: Booted, hardware: str) -> Group:
    count = len(found.problems)
    title = f"{hardware} does not come up: {count} problem{'s' if count > 1 else ''}"
    shown = table("", "")
    for number, problem in enumerate(found.problems, 1):
        shown.add_row(str(number), escape(problem))
    for what in found.unchecked:
        shown.add_row("", escape(f"not checked: {what}"))
    return Group(Text(title, style="bold red"), shown)


def _rows(node: BootedNode) -> list[tuple[str, str]]:
    return [
        ("name", node.hostname or "as its site names it"),
        ("labels", _lines(node.labels)),
        ("taints", "\n".join(_taint(taint) for taint in node.taints) or "none"),
        *(
            (f"{name}", _amounts(amount, node.allocatable.get(name, "0")))
            for name, amount in node.capacity.items()
        ),
        ("hugepages by NUMA node", _pages(node.hugepages)),
        ("housekeeping CPUs", node.housekeeping_cpus or "none"),
        ("workload CPUs", node.workload_cpus),
        ("from the boot data", ", ".join(node.decided_by_ignition)),
    ]


def _lines(values: Mapping[str, str]) -> str:
    return "\n".join(f"{name}={value}" for name, value in values.items()) or "none"


def _taint(taint: Mapping[str, str]) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{value}:{taint['effect']}"


def _amounts(capacity: str, allocatable: str) -> str:
    return capacity if capacity == allocatable else f"{capacity}, allocatable {allocatable}"


def _pages(pages: Mapping[str, tuple[int, ...]]) -> str:
    counted = (f"{name} {' + '.join(map(str, counts))}" for name, counts in pages.items())
    return ", ".join(counted) or "none"
