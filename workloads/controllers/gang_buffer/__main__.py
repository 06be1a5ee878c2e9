"""Looks at the waiting gangs of each queue, again and again, and asks for what they lack."""

import argparse
import json
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import Any

from workloads.api_server import ApiServer, ApiServerError, of_pod
from workloads.controllers.gang_buffer import shape
from workloads.controllers.gang_buffer.queue import Queue
from workloads.controllers.gang_buffer.world import world

PAUSE_S = 1
"""Less than Karpenter needs to boot a machine: a buffer asks no longer once machines come."""


def pass_once(api: ApiServer, settings: Mapping[str, Any]) -> bool:
    """Serve the gangs of all queues; False where one could not be."""
    try:
        queues = _queues(api, settings)
        groups = {each.name: each.groups() for each in queues}
        pods = {name: _pods(api, name) for name, found in groups.items() if found}
        if not any(each.waiting(groups[each.name], pods.get(each.name, ())) for each in queues):
            return True
        pools = sorted({pool for each in queues for pool in each.pools})
        offers = {pool: shape.of(each) for pool, each in settings["machines"].items()}

        def all_pods() -> list[Mapping[str, Any]]:
            pods.update({space: _pods(api, space) for space in settings["spaces"]})
            return list(chain.from_iterable(pods.values()))

        now = world(api, pools, offers, all_pods)
        for each in queues:
            waiting = each.waiting(groups[each.name], pods[each.name])
            for said in each.serve(waiting, now):
                print(said, flush=True)  # noqa: T201  # the log of the pod
    except ApiServerError as error:
        print(f"Gangs wait as before: {error}", file=sys.stderr, flush=True)  # noqa: T201  # as above
        return False
    return True


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
        fine = pass_once(of_pod(), settings)
        if given.once:
            return 0 if fine else 1
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    sys.exit(main())
