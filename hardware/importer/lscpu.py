"""`(lscpu -J; lscpu -J -e=CPU,CORE,SOCKET,NODE)`: the summary, and a row for each CPU.

The first document holds fields, nested since util-linux 2.37 and flat before; the second holds the
SMT siblings, which the summary does not show: two CPUs with the same core and socket are threads of
one core. Older versions write numbers as strings. A machine with one thread per core does without.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from hardware.cpuset import CpusetError, parse_list
from hardware.importer.capture import CaptureError, Cpu, Processors

COMMAND = "(lscpu -J; lscpu -J -e=CPU,CORE,SOCKET,NODE)"


def parse(text: str, where: str) -> Processors:
    """The CPUs of the machine; CaptureError with file and line."""
    documents = list(_documents(text, where))
    fields = _fields(documents, where)
    offline = fields.get("Off-line CPU(s) list")
    if offline:
        raise CaptureError(
            where, f"the CPUs {offline} are off-line; bring them on-line and capture again"
        )
    rows = next((doc["cpus"] for doc in documents if "cpus" in doc), None)
    cpus = _single_threads(fields, where) if rows is None else _rows(rows, where)
    _same_nodes(cpus, fields, where)
    return Processors(
        architecture=_need(fields, "Architecture", where),
        vendor=_need(fields, "Vendor ID", where),
        model=_need(fields, "Model name", where),
        virtual="Hypervisor vendor" in fields,
        cpus=tuple(sorted(cpus, key=lambda cpu: cpu.number)),
    )


def _documents(text: str, where: str) -> Iterator[dict[str, Any]]:
    decoder, position = json.JSONDecoder(), 0
    while text[position:].strip():
        position += len(text[position:]) - len(text[position:].lstrip())
        try:
            document, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            raise CaptureError(
                where,
                f"no JSON ({error.msg}); it must be the output of {COMMAND}",
                line=error.lineno,
            ) from None
        if not isinstance(document, dict):
            line = text.count("\n", 0, position) + 1
            raise CaptureError(where, "a JSON document that lscpu does not write", line=line)
        yield document


def _fields(documents: list[dict[str, Any]], where: str) -> dict[str, str]:
    for document in documents:
        if isinstance(document.get("lscpu"), list):
            return dict(_flat(document["lscpu"]))
    raise CaptureError(where, f"the summary of lscpu -J is missing; capture {COMMAND}")


def _flat(entries: list[Any]) -> Iterator[tuple[str, str]]:
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("field"), str):
            if entry.get("data") is not None:
                yield entry["field"].removesuffix(":"), str(entry["data"])
            yield from _flat(entry.get("children") or [])


def _need(fields: Mapping[str, str], name: str, where: str) -> str:
    if name not in fields:
        raise CaptureError(where, f'the field "{name}" is missing; run lscpu with LC_ALL=C')
    return fields[name]


def _count(fields: Mapping[str, str], name: str, where: str) -> int:
    value = _need(fields, name, where)
    if not re.fullmatch(r"[1-9]\d{0,3}", value):
        raise CaptureError(where, f'"{name}" is "{value}", which is no count')
    return int(value)


def _rows(rows: Any, where: str) -> list[Cpu]:
    cpus = []
    for number, row in enumerate(rows if isinstance(rows, list) else [None]):
        try:
            # lscpu leaves the node out where the kernel has no NUMA
            node = row.get("node")
            cpus.append(
                Cpu(
                    number=int(row["cpu"]),
                    core=int(row["core"]),
                    socket=int(row["socket"]),
                    numa_node=0 if node in (None, "-", "") else int(node),
                )
            )
        except (AttributeError, KeyError, TypeError, ValueError):
            raise CaptureError(
                where,
                f"row {number} of the CPUs lacks one of cpu, core and socket as a number; capture "
                f"{COMMAND}",
            ) from None
    return cpus


def _node_lists(fields: Mapping[str, str], where: str) -> dict[int, frozenset[int]]:
    lists = {}
    for name in fields:
        if name.startswith("NUMA node") and name.endswith(" CPU(s)"):
            number = name.removeprefix("NUMA node").removesuffix(" CPU(s)")
            lists[int(number) if number.isdecimal() else -1] = _list(fields, name, where)
    return lists


def _list(fields: Mapping[str, str], name: str, where: str) -> frozenset[int]:
    value = _need(fields, name, where)
    try:
        return parse_list(value)
    except CpusetError as error:
        raise CaptureError(where, f'"{name}" is "{value}": {error}') from None


def _single_threads(fields: Mapping[str, str], where: str) -> list[Cpu]:
    if _need(fields, "Thread(s) per core", where) != "1":
        raise CaptureError(
            where,
            "which CPUs are threads of one core is missing, and the machine has "
            f"{fields['Thread(s) per core']} threads per core; capture {COMMAND}",
        )
    nodes = _node_lists(fields, where)
    if not nodes:
        nodes = {0: _list(fields, "On-line CPU(s) list", where)}
    sockets = _count(fields, "Socket(s)", where)
    per_socket = max(1, -(-len(nodes) // sockets))
    return [
        Cpu(number=cpu, core=cpu, socket=node // per_socket, numa_node=node)
        for node, cpus in nodes.items()
        for cpu in cpus
    ]


def _same_nodes(cpus: list[Cpu], fields: Mapping[str, str], where: str) -> None:
    """Refuse NUMA nodes without CPUs (memory of a GPU or of CXL), which no plan can use."""
    nodes = _node_lists(fields, where)
    shown = {cpu.numa_node for cpu in cpus}
    count = _count(fields, "NUMA node(s)", where) if "NUMA node(s)" in fields else len(shown)
    empty = sorted(set(range(count)) - shown)
    if empty:
        raise CaptureError(
            where,
            f"NUMA node {', '.join(map(str, empty))} has no CPU; machines with memory-only NUMA "
            "nodes (Grace with its GPUs' memory, CXL) are not supported",
        )
    for node, listed in nodes.items():
        if listed != {cpu.number for cpu in cpus if cpu.numa_node == node}:
            raise CaptureError(
                where,
                f"NUMA node {node} has other CPUs in the summary than in the rows; capture both on "
                "one machine",
            )
