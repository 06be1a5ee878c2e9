"""Kubelet's own code, asked about many nodes and pods through one process."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hardware.cpuset import format_list
from ignition.shapes.node import Node, Request
from toolchain.build import ensure


def kubelet() -> Path:
    """The program."""
    return ensure(("kubelet-shapes",), console=None).path("kubelet-shapes")


def ask(program: Path, cases: Sequence[tuple[Node, Sequence[Request]]]) -> list[dict[str, Any]]:
    """What kubelet says to each node and pod."""
    lines = "\n".join(
        json.dumps({"node": _node(node), "pod": [_container(request) for request in pod]})
        for node, pod in cases
    )
    done = subprocess.run(
        [program, "batch"], input=lines, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def _node(node: Node) -> dict[str, Any]:
    options = {"max-allowable-numa-nodes": str(node.max_numa_nodes)}
    if node.prefer_closest:
        options["prefer-closest-numa-nodes"] = "true"
    return {
        "sockets": node.sockets,
        "numa_nodes": [
            {**vars(cell), "cores": [sorted(core) for core in cell.cores]} for cell in node.cells
        ],
        "reserved_cpus": format_list(node.reserved_cpus),
        "cpu_options": dict.fromkeys(node.cpu_options, "true"),
        "memory_manager": node.memory_manager,
        "policy": node.policy,
        "scope": node.scope,
        "options": options,
    }


def _container(request: Request) -> dict[str, Any]:
    cpus = f"{round(request.cpus * 1000)}m" if request.cpus else ""
    return {**vars(request), "cpus": cpus}
