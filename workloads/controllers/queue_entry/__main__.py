"""Looks at the gangs that wait before each queue, again and again, and lets in who has room."""

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from types import FrameType

from workloads.api_server import ApiServer, ApiServerError, of_pod
from workloads.controllers.queue_entry.entry import Entry

PAUSE_S = 5


def pass_once(api: ApiServer, queues: Sequence[str]) -> bool:
    """Let gangs into each queue; False where a queue could not be served."""
    fine = True
    for queue in queues:
        try:
            for said in Entry(api=api, queue=queue).let_in():
                print(said, flush=True)  # noqa: T201  # the log of the pod
        except ApiServerError as error:
            print(f"Queue {queue} is as before: {error}", file=sys.stderr, flush=True)  # noqa: T201  # as above
            fine = False
    return fine


def _stop(_signal: int, _frame: FrameType | None) -> None:
    """The first process of a container gets no default action for SIGTERM."""
    sys.exit(0)


def main() -> int:
    """Make one pass, or one after the other."""
    parser = argparse.ArgumentParser(prog="fleet-queue-entry", description=__doc__)
    parser.add_argument("queues", nargs="+", help="the queues, each a namespace")
    parser.add_argument("--once", action="store_true", help="make one pass and end")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, _stop)
    while True:
        fine = pass_once(of_pod(), given.queues)
        if given.once:
            return 0 if fine else 1
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    sys.exit(main())
