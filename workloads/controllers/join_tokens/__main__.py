"""Runs for ever, or once with --once: fleet-join-tokens --pools FILE --namespace NAME."""

import argparse
import json
import signal
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from workloads.api_server import ApiServerError, of_pod
from workloads.controllers.join_tokens.burst import BurstPool, Writer, forget
from workloads.controllers.join_tokens.s3 import S3Error, of_environment
from workloads.controllers.join_tokens.used import delete_used

PAUSE_S = 30


def pass_once(pools: list[BurstPool], namespace: str) -> bool:
    """Renew the tokens of burst pools, and delete used ones; False where something failed.

    A pool that is no more is forgotten.
    """
    api = of_pod()
    shared: set[str] = set()
    fine = True
    for pool in pools:
        writer = Writer(api=api, namespace=namespace, key=of_environment())
        try:
            said = writer.renew(pool, datetime.now(UTC))
            if said is not None:
                print(said, flush=True)  # noqa: T201  # the log of the pod
        except (ApiServerError, S3Error) as error:
            fine = _failed(f"pool {pool.name} gets no new token: {error}")
        try:
            shared.update(writer.ids(pool))
        except ApiServerError as error:
            # a shared token that is not known as one would be taken from the next machine
            return _failed(f"no used token is deleted: {error}")
    try:
        used = delete_used(api, shared=frozenset(shared))
        for sentence in (*used, *forget(api, namespace, [pool.name for pool in pools])):
            print(sentence, flush=True)  # noqa: T201  # as above
    except ApiServerError as error:
        fine = _failed(f"used tokens and gone pools are not deleted: {error}")
    return fine


def _failed(what: str) -> bool:
    print(f"Failed, and tried again in {PAUSE_S} s: {what}", file=sys.stderr, flush=True)  # noqa: T201  # as above
    return False


def _stop(_signal: int, _frame: FrameType | None) -> None:
    """The first process of a container gets no default action for SIGTERM."""
    sys.exit(0)


def main() -> int:
    """Make one pass, or one after the other."""
    parser = argparse.ArgumentParser(prog="fleet-join-tokens", description=__doc__)
    parser.add_argument("--pools", type=Path, required=True, help="JSON: a list of burst pools")
    parser.add_argument("--namespace", required=True, help="where the Leases are")
    parser.add_argument("--once", action="store_true", help="make one pass and end")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, _stop)
    pools = [BurstPool(**each) for each in json.loads(given.pools.read_text(encoding="utf-8"))]
    while True:
        fine = pass_once(pools, given.namespace)
        if given.once:
            return 0 if fine else 1
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    sys.exit(main())
