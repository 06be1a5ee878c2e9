"""The environments of a checkout: pools, nodes, GPUs, and the rehearsals that are kept."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.text import Text

from engine.tables import table
from rehearsal.workspace import Workspace
from settings import (
    AwsPoolSettings,
    BareMetalPoolSettings,
    HetznerPoolSettings,
    ResolvedPool,
    SettingsError,
    environments,
    load,
    stack_file,
)


@dataclass(frozen=True, kw_only=True)
class Pool:
    """A pool as `fleet envs` shows it; nodes and GPUs are the most where it is on demand."""

    name: str
    kind: str
    site: str
    hardware: str
    nodes: int
    gpus: int
    on_demand: bool
    """Whether Karpenter rents its machines when jobs need them, and ends them after that."""


@dataclass(frozen=True, kw_only=True)
class Environment:
    """An environment; without pools where its stack file has mistakes."""

    name: str
    pools: tuple[Pool, ...]
    kept: bool
    """Whether a rehearsal of it was kept, and runs."""
    mistakes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Everything, with the sums of what is always on and of what it may have at most."""
        always = [pool for pool in self.pools if not pool.on_demand]
        return {
            **asdict(self),
            "nodes": sum(pool.nodes for pool in always),
            "gpus": sum(pool.gpus for pool in always),
            "most_gpus": sum(pool.gpus for pool in self.pools),
        }


def read(root: Path) -> Iterator[Environment]:
    """Yield the environments of a checkout, by name."""
    for name in environments(root):
        kept = _is_kept(root, name)
        try:
            pools = load(stack_file(root, name)).pools.values()
        except SettingsError as error:
            yield Environment(
                name=name, pools=(), kept=kept, mistakes=tuple(map(str, error.mistakes))
            )
        else:
            yield Environment(name=name, pools=tuple(map(_pool, pools)), kept=kept)


def environments_table(found: list[Environment]) -> Group:
    """Return a line for each pool, and below what else there is to say of an environment."""
    columns = ("Environment", "Pool", "Kind", "Site", "Hardware", "Nodes", "GPUs")
    made = table(*columns, right=("Nodes", "GPUs"), whole=columns)
    for environment in found:
        name = environment.name
        for pool in environment.pools:
            most = "up to " if pool.on_demand else ""
            nodes, gpus = f"{most}{pool.nodes}", f"{most}{pool.gpus}"
            made.add_row(name, pool.name, pool.kind, pool.site, pool.hardware, nodes, gpus)
            name = ""
    return Group(made, *(Text(line) for each in found for line in _remarks(each)))


def _remarks(environment: Environment) -> Iterator[str]:
    name = environment.name
    if environment.mistakes:
        number = len(environment.mistakes)
        mistakes = "1 mistake" if number == 1 else f"{number} mistakes"
        yield f"\n{name}: {mistakes} in its stack file (fleet validate {name})"
    if environment.kept:
        yield f"\n{name}: a rehearsal is kept running (fleet rehearse-stop {name} ends it)"


def _pool(pool: ResolvedPool) -> Pool:
    declared, each = pool.declared, pool.hardware.gpu_count
    match declared:
        case AwsPoolSettings():
            nodes = declared.gpu_limit // each if each else 0
        case HetznerPoolSettings():
            nodes = declared.nodes
        case BareMetalPoolSettings():
            nodes = len(declared.machines)
    return Pool(
        name=pool.title,
        kind=declared.kind,
        site=pool.site,
        hardware=pool.hardware.name,
        nodes=nodes,
        gpus=pool.gpus,
        on_demand=pool.rented,
    )


def _is_kept(root: Path, name: str) -> bool:
    return Workspace(root=root, environment=name).is_kept
