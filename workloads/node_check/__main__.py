"""Checks the machine once, or for ever: fleet-node-check [--every 300] [--root /host] …"""

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from workloads.api_server import ApiServerError, of_pod
from workloads.node_check import gpus, interrupts, kernel, kubelet, memory, metrics, services
from workloads.node_check.drift import Drift
from workloads.node_check.machine import LiveMachine, live
from workloads.node_check.node_api import NodeApi
from workloads.node_check.plan import PATH, Plan, PlanFileError, parse

SETTLING = frozenset({"irq-affinity", "clocks"})
"""A driver makes vectors when a job first uses a device, and a unit moves them within 5 minutes;
a GPU that was hot for a moment is none that stays hot."""
CHECKS = (kernel.check, memory.check, interrupts.check, services.check, kubelet.check, gpus.check)


def findings(machine: LiveMachine) -> tuple[Plan | None, list[Drift]]:
    """Returns the plan and every drift from it; an unreadable plan is a drift of its own."""
    text = machine.text(PATH)
    try:
        if text is None:
            raise PlanFileError("not there")
        plan = parse(text)
    except PlanFileError as error:
        remedy = "reinstall the machine from a stack whose pools carry plans"
        drift = Drift(
            check="plan", what=f"/{PATH}", seen=str(error), expected="readable", remedy=remedy
        )
        return None, [drift]
    return plan, [drift for check in CHECKS for drift in check(machine, plan)]


def arguments(given: Sequence[str]) -> argparse.Namespace:
    """Reads the command line; without --node nothing is sent to the API server."""
    parser = argparse.ArgumentParser(prog="fleet-node-check", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path("/"), help="where the machine's / is")
    parser.add_argument("--every", type=int, metavar="SECONDS", help="check for ever")
    parser.add_argument("--textfile", type=Path, help="folder of node exporter's textfiles")
    parser.add_argument("--node", help="Kubernetes node that gets the condition and the taint")
    return parser.parse_args(given)


def confirmed(drifts: Sequence[Drift], before: Sequence[Drift]) -> list[Drift]:
    """Leaves out the drifts that may settle by themselves and are seen for the first time."""
    known = {drift.what for drift in before}
    return [drift for drift in drifts if drift.check not in SETTLING or drift.what in known]


def hand_on(given: argparse.Namespace, plan: Plan | None, drifts: Sequence[Drift]) -> int:
    """Reports the drifts; returns 0 for none, 1 for some, 2 where the report failed.

    Those from figures that are not verified are printed and counted, but taint no node.
    """
    for drift in drifts:
        print(drift.sentence, flush=True)  # noqa: T201  # the log of the pod
    certain = [drift for drift in drifts if not drift.unverified]
    if not drifts and plan is not None:
        print(f"As planned: {plan.hardware}, plan {plan.digest}.", flush=True)  # noqa: T201  # as above
    failed = False
    if given.textfile is not None:
        try:
            metrics.write(given.textfile, metrics.exposition(plan, drifts, time.time()))
        except OSError as error:
            failed = _failed(f"{given.textfile}: {error}")
    if given.node is not None:
        try:
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            _api(given.node).report(certain, now, judged=plan is not None)
        except (ApiServerError, OSError) as error:
            failed = _failed(str(error))
    return 2 if failed else int(bool(certain))


def _failed(message: str) -> bool:
    print(f"Not handed on: {message}.", file=sys.stderr, flush=True)  # noqa: T201  # as above
    return True


def _api(node: str) -> NodeApi:
    """The API server by the environment that the kubelet gives every pod."""
    server = of_pod()
    return NodeApi(host=server.host, port=server.port, node=node)


def _stop(_signal: int, _frame: FrameType | None) -> None:
    """The first process of a container gets no default action for SIGTERM."""
    sys.exit(0)


def main() -> int:
    """Checks once, or for ever with --every."""
    given = arguments(sys.argv[1:])
    signal.signal(signal.SIGTERM, _stop)
    machine = live(given.root)
    plan, drifts = findings(machine)
    if given.every is None:
        return hand_on(given, plan, drifts)
    before: Sequence[Drift] = ()
    while True:
        hand_on(given, plan, confirmed(drifts, before))
        time.sleep(given.every)
        before = drifts
        plan, drifts = findings(machine)


if __name__ == "__main__":
    sys.exit(main())
