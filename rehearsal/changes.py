"""What a rehearsal of a kept twin has changed since the last one."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from engine.events import Change

VERBS = {"create": "created", "update": "changed", "replace": "replaced", "delete": "deleted"}
SHOWN = 6


@dataclass(frozen=True, kw_only=True)
class Running:
    """What a kept twin has running: the names of its Ready nodes, and their cost."""

    nodes: tuple[str, ...] = ()
    usd_per_hour: float | None = None  # None where its rehearsal did not come to the machines

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what `write` has written."""
        found = json.loads(path.read_text(encoding="utf-8"))
        return cls(nodes=tuple(found["nodes"]), usd_per_hour=found["usd_per_hour"])

    def write(self, path: Path) -> None:
        """Write it down for the next rehearsal of this twin."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Resources by what the update did with them ("created"), nodes, and the cost of what is up."""

    resources: Mapping[str, tuple[str, ...]]
    nodes_added: tuple[str, ...]
    nodes_removed: tuple[str, ...]
    usd_per_hour_before: float | None
    usd_per_hour: float | None


def since(before: Running, now: Running, steps: Sequence[Change]) -> Changes:
    """Return what the engine's `steps` have made of what ran before."""
    return Changes(
        resources={
            said: tuple(f"{_kind(each.type)} {each.name}" for each in steps if each.op == op)
            for op, said in VERBS.items()
        },
        nodes_added=tuple(sorted(set(now.nodes) - set(before.nodes))),
        nodes_removed=tuple(sorted(set(before.nodes) - set(now.nodes))),
        usd_per_hour_before=before.usd_per_hour,
        usd_per_hour=now.usd_per_hour,
    )


def rows(changes: Changes) -> Iterator[tuple[str, str]]:
    """Yield the changes, one kind a row: what it is, and of what."""
    yield from ((said, _some(names)) for said, names in changes.resources.items() if names)
    for sign, names in (("+", changes.nodes_added), ("-", changes.nodes_removed)):
        if names:
            yield "nodes", f"{sign} {_some(names)}"
    before, now = changes.usd_per_hour_before, changes.usd_per_hour
    if before is not None and now is not None and before != now:
        a_day = (now - before) * 24
        yield "cost", f"{before:,.2f} → {now:,.2f} USD per hour ({a_day:+,.2f} per day)"


def _kind(token: str) -> str:
    """The last part of a resource's type: `hcloud:index/server:Server` is a Server."""
    return token.rpartition(":")[2].rpartition("/")[2]


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}"
