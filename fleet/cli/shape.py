"""`fleet shape NAME --gpus 8 --cpus 96 --memory-gib 800`: whether a node ever admits such a pod."""

from __future__ import annotations

import json as json_text
from importlib import import_module
from math import isfinite
from typing import Annotated, Any

import typer

from fleet.cli.place import ROOT
from fleet.cli.printing import refuse, show

NAME_HELP = "A machine of the catalogue such as dgx-h200, or a pool such as prod/dgx."
PAGES = "hugepages_1gi_per_numa_node"


def shape(  # noqa: PLR0913  # a request and the settings that judge it
    name: Annotated[str, typer.Argument(metavar="NAME", help=NAME_HELP)],
    *,
    gpus: Annotated[int | None, typer.Option(help="GPUs of the pod.")] = None,
    cpus: Annotated[float | None, typer.Option(help="CPUs, as request and as limit.")] = None,
    memory_gib: Annotated[float | None, typer.Option(help="Memory, likewise.")] = None,
    hugepages_1gi: Annotated[int, typer.Option(help="Huge pages of 1 GiB.")] = 0,
    policy: Annotated[
        str | None,
        typer.Option(help="none, best-effort, restricted or single-numa-node; else the plan's."),
    ] = None,
    scope: Annotated[str | None, typer.Option(help="container or pod; else the plan's.")] = None,
    purpose: Annotated[
        str | None, typer.Option(help="training, inference or batch; a pool has its own.")
    ] = None,
    choices: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A choice of the tuning; repeatable."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON alone.")] = False,
) -> None:
    """Tell whether an empty node ever admits a pod of one container, why, and the nearest that is.

    Without --cpus and --memory-gib: the largest pod for each number of GPUs. A machine named alone
    is taken to have on each NUMA node as many huge pages as are asked for, unless --set says how
    many. Exit code 0 when the pod is admitted, 1 when it is not, 2 for a wrong request.
    """
    if (cpus is None) != (memory_gib is None):
        refuse("--cpus and --memory-gib go together: without both, nothing is kept for a pod alone")
    if not all(isfinite(amount) for amount in (cpus or 0, memory_gib or 0)):
        refuse("--cpus and --memory-gib are finite numbers")
    if cpus is None and hugepages_1gi:
        refuse("--hugepages-1gi is part of a request: give --cpus and --memory-gib, too")
    given = choices or []
    if hugepages_1gi and "/" not in name and not any(one.startswith(PAGES) for one in given):
        given = [*given, f"{PAGES}={hugepages_1gi}"]
    node = _node(name, policy, scope, purpose, given)
    if cpus is None or memory_gib is None:
        _table(node, gpus, name, json=json)
    else:
        asked = {"gpus": gpus or 0, "cpus": cpus, "hugepages_1gi": hugepages_1gi}
        _judge(node, {**asked, "memory_mib": round(memory_gib * 1024)}, json=json)


def _table(node: Any, gpus: int | None, name: str, *, json: bool) -> None:
    shapes = import_module("fleet.shape")
    found = shapes.largest_shapes(node, gpus)
    if json:
        _print({"policy": node.policy, "scope": node.scope, "shapes": found})
    else:
        show(shapes.table(node, found, name))
    raise typer.Exit(0 if found else 1)


def _judge(node: Any, asked: dict[str, Any], *, json: bool) -> None:
    shapes, types = import_module("fleet.shape"), import_module("ignition.shapes.node")
    try:
        request = types.Request(**asked)
    except types.ShapeError as error:
        refuse(error)
    verdict = shapes.verdict(node, request)
    if json:
        _print(verdict)
    else:
        typer.echo("\n".join(shapes.sentences(verdict)))
    raise typer.Exit(0 if verdict["admitted"] else 1)


def _node(
    name: str, policy: str | None, scope: str | None, purpose: str | None, choices: list[str]
) -> Any:
    """The node to ask; refuses what is not known."""
    subjects = import_module("fleet.plan.subject")  # here, so that `fleet --help` need not wait
    types = import_module("ignition.shapes.node")
    for flag, value, allowed in (
        ("--policy", policy, types.POLICIES),
        ("--scope", scope, types.SCOPES),
    ):
        if value is not None and value not in allowed:
            refuse(f'{flag} is "{value}"; allowed: {", ".join(allowed)}')
    try:
        subject = subjects.subject(ROOT, name, purpose, choices)
        return import_module("fleet.shape").node_of(subject, policy, scope)
    except (subjects.SubjectError, types.ShapeError) as error:
        refuse(error)


def _print(found: dict[str, Any]) -> None:
    typer.echo(json_text.dumps(found, indent=2))
