"""Looks at the machines of each pool, again and again, and tells Volcano which cannot take work."""

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from types import FrameType

from workloads.api_server import ApiServer, ApiServerError, of_pod
from workloads.controllers.pool_domains.domain import Domain

PAUSE_S = 10


def pass_once(api: ApiServer, pools: Sequence[str]) -> bool:
    """Update the domain of each pool; False where one could not be."""
    fine = True
    for pool in pools:
        try:
            said = Domain(api=api, pool=pool).update()
        except ApiServerError as error:
            print(f"Pool {pool} is as before: {error}", file=sys.stderr, flush=True)  # noqa: T201  # the log of the pod
            fine = False
        else:
            if said is not None:
                print(said, flush=True)  # noqa: T201  # as above
    return fine


def _stop(_signal: int, _frame: FrameType | None) -> None:
    """The first process of a container gets no default action for SIGTERM."""
    sys.exit(0)


def main() -> int:
    """Make one pass, or one after the other."""
    parser = argparse.ArgumentParser(prog="fleet-pool-domains", description=__doc__)
    parser.add_argument("pools", nargs="+", help="the pools with GPUs")
    parser.add_argument("--once", action="store_true", help="make one pass and end")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, _stop)
    while True:
        fine = pass_once(of_pod(), given.pools)
        if given.once:
            return 0 if fine else 1
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    sys.exit(main())
