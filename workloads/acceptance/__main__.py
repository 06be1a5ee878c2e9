"""Prints the manifests, the commands that collect their logs, or the verdicts on the logs."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from hardware.catalogue import HardwareError, load
from workloads.acceptance import verdict
from workloads.acceptance.manifests import collecting, manifests

MARKS = {True: "accepted", False: "REFUSED ", None: "reported"}


def arguments(given: Sequence[str]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(prog="acceptance", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("manifests", "logs", "judge"):
        each = verbs.add_parser(verb)
        if verb != "logs":
            each.add_argument("--hardware", required=True, help="name in the catalogue")
        if verb != "judge":
            each.add_argument("--node", required=True, help="name of the Kubernetes node")
        else:
            each.add_argument("--logs", type=Path, default=Path(), help="folder of <name>.log")
    return parser.parse_args(given)


def judge(hardware_name: str, folder: Path) -> list[verdict.AcceptanceVerdict]:
    """Returns a verdict for each measurement; a missing log counts as empty."""
    logs = {path.stem: path.read_text() for path in folder.glob("*.log")}
    return verdict.judge(logs, load(hardware_name))


def main(given: Sequence[str]) -> int:
    """Returns 0 for accepted, 1 for refused, 2 for unknown hardware."""
    found = arguments(given)
    try:
        if found.verb == "logs":
            print(collecting(found.node), end="")  # noqa: T201  # it is the command's answer
            return 0
        if found.verb == "manifests":
            objects = manifests(load(found.hardware), found.node)
            print(yaml.safe_dump_all(objects, sort_keys=False), end="")  # noqa: T201  # as above
            return 0
        verdicts = judge(found.hardware, found.logs)
    except HardwareError as error:
        print(error, file=sys.stderr)  # noqa: T201  # as above
        return 2
    for each in verdicts:
        print(f"{MARKS[each.passed]}  {each.measurement:5} {each.sentence}")  # noqa: T201  # as above
    return int(any(each.passed is False for each in verdicts))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
