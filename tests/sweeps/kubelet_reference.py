"""Kubelet's own code, asked about many nodes and pods through one process."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hardware.cpuset import format_list
from ignition.shapes.node import ContainerRequest, EmptyNode
from toolchain.build import ToolchainError, ensure


def kubelet() -> Path:
    """The program; tests skip where it can neither be found nor built."""
    try:
        return ensure(("kubelet-shapes",), console=None).path("kubelet-shapes")
    except ToolchainError as error:
        pytest.skip(f"no kubelet to compare with: {error}")


def ask(
    program: Path, cases: Sequence[tuple[EmptyNode, Sequence[ContainerRequest]]]
) -> list[dict[str, Any]]:
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


def _node(node: EmptyNode) -> dict[str, Any]:
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


def _container(request: ContainerRequest) -> dict[str, Any]:
    cpus = f"{round(request.cpus * 1000)}m" if request.cpus else ""
    return {**vars(request), "cpus": cpus}
