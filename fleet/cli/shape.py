"""`fleet shape MACHINE --gpus 8 --cpus 96 --memory-gib 800`: can a node admit such a pod?"""

import json as json_text
from math import isfinite
from typing import Annotated, Any, TypeVar

import typer

from fleet.cli.place import ROOT, Choices, Json, MachineOrPool, Purpose
from fleet.cli.printing import refuse, show

Word = TypeVar("Word", bound=str)
PAGES = "hugepages_1gi_per_numa_node"


def shape(  # noqa: PLR0913  # a request and the settings that judge it
    name: MachineOrPool,
    *,
    gpus: Annotated[int | None, typer.Option(metavar="N", help="GPUs of the pod.")] = None,
    cpus: Annotated[
        float | None, typer.Option(metavar="N", help="CPUs, as request and as limit.")
    ] = None,
    memory_gib: Annotated[
        float | None, typer.Option(metavar="GIB", help="Memory, as request and as limit.")
    ] = None,
    hugepages_1gi: Annotated[
        int, typer.Option(metavar="N", help="Huge pages of 1 GiB of the pod.")
    ] = 0,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="POLICY",
            help="Topology Manager policy: none, best-effort, restricted or single-numa-node. "
            "Default: the plan's.",
        ),
    ] = None,
    scope: Annotated[
        str | None,
        typer.Option(
            metavar="SCOPE",
            help="Topology Manager scope: container or pod. Default: the plan's.",
        ),
    ] = None,
    purpose: Purpose = None,
    choices: Choices = None,
    json: Json = False,
) -> None:
    """Check if an empty node can admit a pod of this size.

    Prints why not, and the nearest size that the node admits. Without --cpus and --memory-gib:
    the largest pod for each number of GPUs.

    For a machine of the catalogue, --hugepages-1gi also sets the huge pages of each NUMA node,
    unless --set does.

    \b
    Examples:
      fleet shape dgx-h200 --gpus 4 --cpus 48 --memory-gib 400
      fleet shape prod/dgx --gpus 8

    Exit code 0 if the pod is admitted, 1 if not, 2 for a wrong request.
    """
    _check(gpus, cpus, memory_gib, hugepages_1gi)
    from fleet.plan.subject import SubjectError, subject
    from fleet.shape import largest_shapes, node_of, sentences, shape_table, verdict
    from ignition.shapes.node import POLICIES, SCOPES, ContainerRequest, ShapeError

    set_policy = _allowed("--policy", policy, POLICIES)
    set_scope = _allowed("--scope", scope, SCOPES)
    given = choices or []
    if hugepages_1gi and "/" not in name and not any(one.startswith(PAGES) for one in given):
        given = [*given, f"{PAGES}={hugepages_1gi}"]
    try:
        node = node_of(subject(ROOT, name, purpose, given), set_policy, set_scope)
        if cpus is None or memory_gib is None:
            shapes = largest_shapes(node, gpus)
            if json:
                _print({"policy": node.policy, "scope": node.scope, "shapes": shapes})
            else:
                show(shape_table(node, shapes, name))
            raise typer.Exit(0 if shapes else 1)
        request = ContainerRequest(
            gpus=gpus or 0,
            cpus=cpus,
            hugepages_1gi=hugepages_1gi,
            memory_mib=round(memory_gib * 1024),
        )
    except (SubjectError, ShapeError) as error:
        refuse(error)
    found = verdict(node, request)
    if json:
        _print(found)
    else:
        typer.echo("\n".join(sentences(found)))
    raise typer.Exit(0 if found["admitted"] else 1)


def _check(
    gpus: int | None, cpus: float | None, memory_gib: float | None, hugepages_1gi: int
) -> None:
    if gpus is not None and gpus < 0:
        refuse(f"--gpus is {gpus}; allowed: a whole number of 0 or more")
    if (cpus is None) != (memory_gib is None):
        refuse("--cpus and --memory-gib go together: without both, nothing is kept for a pod alone")
    if not all(isfinite(amount) for amount in (cpus or 0, memory_gib or 0)):
        refuse("--cpus and --memory-gib are finite numbers")
    if cpus is None and hugepages_1gi:
        refuse("--hugepages-1gi is part of a request: give --cpus and --memory-gib, too")


def _allowed(flag: str, value: str | None, allowed: tuple[Word, ...]) -> Word | None:
    """`value` as one of the allowed words, None where it is not given; refuses any other."""
    if value is not None and value not in allowed:
        refuse(f'{flag} is "{value}"; allowed: {", ".join(allowed)}')
    return next((word for word in allowed if word == value), None)


def _print(found: dict[str, Any]) -> None:
    typer.echo(json_text.dumps(found, indent=2))
