"""Computes which pods an empty node of a machine or pool admits, as data and as a table."""

from dataclasses import asdict, replace
from typing import Any

from rich.console import Group
from rich.text import Text

from engine.tables import table
from fleet.plan.subject import Subject
from hardware.cpuset import format_list, parse_list
from ignition.shapes.admission import admit
from ignition.shapes.kubelet import Share
from ignition.shapes.nearest import Nearest, Shape, largest_on, nearest
from ignition.shapes.node import MIB_PER_GIB, ContainerRequest, EmptyNode, Policy, Scope
from ignition.shapes.node_of_plan import from_plan

TITLES = ("GPUs", "CPUs", "Memory", "Aligned: CPUs", "Aligned: memory")


def node_of(subject: Subject, policy: Policy | None, scope: Scope | None) -> EmptyNode:
    """Returns the empty node, optionally with another Topology Manager policy or scope."""
    node = from_plan(subject.hardware, subject.plan, subject.most_memory_mib)
    return replace(node, policy=policy or node.policy, scope=scope or node.scope)


def verdict(node: EmptyNode, request: ContainerRequest) -> dict[str, Any]:
    """Returns whether the node admits a one-container pod, why, and the nearest pods that fit."""
    admission = admit(node, [request])
    return {
        "request": asdict(request),
        "policy": node.policy,
        "scope": node.scope,
        "admitted": admission.admitted,
        "reason": admission.reason,
        "why": admission.why,
        "aligned": admission.aligned,
        "placed": _placed(node, admission.shares[0]) if admission.shares else None,
        "nearest": None if admission.admitted else _near(nearest(node, request)),
        "nearest_aligned": (
            None if admission.aligned else _near(nearest(node, request, aligned=True))
        ),
    }


def _placed(node: EmptyNode, share: Share) -> dict[str, Any]:
    """Returns the container's resources on an empty node, and their NUMA nodes."""
    numa_of = {gpu: cell.id for cell in node.cells for gpu in cell.gpus}
    return {
        "cpus": share.cpus,
        "gpus": list(share.gpus),
        "numa_nodes": {
            "cpus": sorted({node.numa_of[cpu] for cpu in parse_list(share.cpus)}),
            "memory": list(share.memory),
            "gpus": sorted({numa_of[gpu] for gpu in share.gpus}),
        },
    }


def _near(found: Nearest | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "request": asdict(found.request),
        "changes": list(found.changes),
        "why": found.admission.why,
    }


def sentences(found: dict[str, Any]) -> list[str]:
    """Renders a verdict as sentences."""
    head = "Admitted" if found["admitted"] else f"Not admitted ({found['reason']})"
    said = [f"{head}: {found['why']}."]
    if found["placed"] and found["placed"]["cpus"]:
        said.append(_where(found["placed"]))
    if not found["admitted"]:
        said.append(_sentence("Nearest that is admitted", found["nearest"]))
    if not found["aligned"] and found["nearest_aligned"] != found["nearest"]:
        said.append(_sentence("Nearest that is aligned", found["nearest_aligned"]))
    return said


def _where(placed: dict[str, Any]) -> str:
    nodes = {resource: format_list(numa) for resource, numa in placed["numa_nodes"].items() if numa}
    others = ", ".join(
        f"{resource} on {nodes[resource]}" for resource in nodes if resource != "cpus"
    )
    cpus = f"CPUs {placed['cpus']} of NUMA node {nodes['cpus']}"
    return f"Alone on the node it gets {cpus}{f'; {others}' if others else ''}."


def _sentence(title: str, found: dict[str, Any] | None) -> str:
    if found is None:
        return f"{title}: none."
    return f"{title}: {', '.join(found['changes'])}; {found['why']}."


def largest_shapes(node: EmptyNode, gpus: int | None) -> list[dict[str, Any]]:
    """Returns the largest pod and the largest aligned pod for each number of GPUs, or for one."""
    aligned = {shape.gpus: shape for shape in largest_on(node, aligned=True)}
    return [
        {**shape._asdict(), "aligned": _plain(aligned.get(shape.gpus))}
        for shape in largest_on(node)
        if gpus in (None, shape.gpus)
    ]


def _plain(shape: Shape | None) -> dict[str, int] | None:
    return None if shape is None else {"cpus": shape.cpus, "memory_mib": shape.memory_mib}


def shape_table(node: EmptyNode, shapes: list[dict[str, Any]], name: str) -> Group:
    """Renders the largest pods as a table."""
    title = f"Largest pods that an empty {name} admits, policy {node.policy}, scope {node.scope}"
    note = (
        "Memory as the catalogue counts it: the kernel keeps a few percent of it."
        if node.most_memory_mib is None
        else f"Karpenter rents none for a pod with more than {_gib(node.most_memory_mib)}."
    )
    made = table(*TITLES, right=TITLES)
    for shape in shapes:
        aligned = shape["aligned"]
        made.add_row(
            str(shape["gpus"]),
            str(shape["cpus"]),
            _gib(shape["memory_mib"]),
            str(aligned["cpus"]) if aligned else "-",
            _gib(aligned["memory_mib"]) if aligned else "-",
        )
    return Group(Text(title, style="bold"), Text(), made, Text(), Text(note))


def _gib(mib: int) -> str:
    return f"{mib / MIB_PER_GIB:.1f} GiB"
