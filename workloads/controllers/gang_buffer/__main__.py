"""Looks at the waiting gangs of each queue, again and again, and asks for what they lack."""

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import Any

from workloads.api_server import ApiServer, ApiServerError, of_pod
from workloads.controllers.gang_buffer import shape
from workloads.controllers.gang_buffer.gang import may_wait
from workloads.controllers.gang_buffer.queue import Queue
from workloads.controllers.gang_buffer.world import World, world

PAUSE_S = 1
"""While a gang waits: less than Karpenter needs to boot a machine, since a buffer asks no longer
once machines come."""
AT_REST_S = 5
"""While none does."""


@dataclass(frozen=True, kw_only=True)
class Pass:
    """`is_fine`: all queues could be served. `waits`: a gang waits, or could not be asked."""

    is_fine: bool
    waits: bool


def pass_once(api: ApiServer, settings: Mapping[str, Any]) -> Pass:
    """Serve the gangs of all queues.

    A queue that cannot be read or served, such as one whose namespace goes, leaves the others.
    """
    groups: dict[str, Sequence[Mapping[str, Any]]] = {}
    pods: dict[str, Sequence[Mapping[str, Any]]] = {}
    readable = []
    queues = _queues(api, settings)
    for each in queues:
        with _or_told(each.name) as told:
            groups[each.name] = each.groups()
            pods[each.name] = _pods(api, each.name) if any(map(may_wait, groups[each.name])) else []
        if not told:
            readable.append(each)
    fine = len(readable) == len(queues)
    if not any(each.waiting(groups[each.name], pods[each.name]) for each in readable):
        return Pass(is_fine=fine, waits=not fine)
    with _or_told("every") as told:
        now = _world(api, settings, readable, pods)
    if told:
        return Pass(is_fine=False, waits=True)
    for each in readable:
        with _or_told(each.name) as told:
            # by the pods that were read after the machines
            for said in each.serve(each.waiting(groups[each.name], pods[each.name]), now):
                print(said, flush=True)  # noqa: T201  # the log of the pod
        fine = fine and not told
    return Pass(is_fine=fine, waits=True)


@contextmanager
def _or_told(queue: str) -> Iterator[list[str]]:
    """Tell why the gangs of a queue wait as before; the list has the reason then."""
    told: list[str] = []
    try:
        yield told
    except ApiServerError as error:
        told.append(str(error))
        text = f"The gangs of queue {queue} wait as before: {error}"
        print(text, file=sys.stderr, flush=True)  # noqa: T201  # the log of the pod


def _world(
    api: ApiServer,
    settings: Mapping[str, Any],
    queues: Sequence[Queue],
    pods: dict[str, Sequence[Mapping[str, Any]]],
) -> World:
    """Return what is idle and can be rented; the pods are read again, of all namespaces."""
    pools = sorted({pool for each in queues for pool in each.pools})
    machines = {pool: shape.of(each) for pool, each in settings["machines"].items()}

    def all_pods() -> list[Mapping[str, Any]]:
        pods.update({space: _pods(api, space) for space in settings["spaces"]})
        return list(chain.from_iterable(pods.values()))

    return world(api, pools, machines, shape.of(settings["daemons"]), all_pods)


def _pods(api: ApiServer, space: str) -> Sequence[Mapping[str, Any]]:
    found = api.request("GET", f"/api/v1/namespaces/{space}/pods")
    return list(found.get("items") or ())


def _queues(api: ApiServer, settings: Mapping[str, Any]) -> Sequence[Queue]:
    return [
        Queue(
            api=api,
            name=name,
            pools=each["pools"],
            give_back=timedelta(minutes=each["give_back_after_minutes"]),
        )
        for name, each in settings["queues"].items()
    ]


def _stop(_signal: int, _frame: FrameType | None) -> None:
    """The first process of a container gets no default action for SIGTERM."""
    sys.exit(0)


def main() -> int:
    """Make one pass, or one after the other."""
    parser = argparse.ArgumentParser(prog="fleet-gang-buffer", description=__doc__)
    parser.add_argument("settings", type=Path, help="the file with the queues and pools")
    parser.add_argument("--once", action="store_true", help="make one pass and end")
    given = parser.parse_args()
    settings = json.loads(given.settings.read_text(encoding="utf-8"))
    signal.signal(signal.SIGTERM, _stop)
    while True:
        passed = pass_once(of_pod(), settings)
        if given.once:
            return 0 if passed.is_fine else 1
        time.sleep(PAUSE_S if passed.waits else AT_REST_S)


if __name__ == "__main__":
    sys.exit(main())
