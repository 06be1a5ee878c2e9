"""Prints the manifests, the commands that collect their logs, or the verdicts on the logs."""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from hardware.catalogue import HardwareError, load
from workloads.acceptance import verdict
from workloads.acceptance.manifests import JOBS, collecting, manifests

_NODE = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_NODE_LENGTH = 63 - max(len(f"{job}-") for job in JOBS)
"""A Job's name has 63 characters at most, and the node's name ends it."""
MARKS = {True: "accepted", False: "REFUSED ", None: "reported"}


def node(text: str) -> str:
    """Returns the name of a node, which is part of names and of shell lines."""
    if not _NODE.fullmatch(text) or len(text) > _NODE_LENGTH:
        raise argparse.ArgumentTypeError(
            f'"{text}" is no name of a node; allowed: at most {_NODE_LENGTH} lower-case letters, '
            "digits, hyphens and dots, a letter or digit first and last"
        )
    return text


def arguments(given: Sequence[str]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(prog="acceptance", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("manifests", "logs", "judge"):
        each = verbs.add_parser(verb)
        if verb != "logs":
            each.add_argument("--hardware", required=True, help="name in the catalogue")
        if verb != "judge":
            each.add_argument(
                "--node", required=True, type=node, help="name of the Kubernetes node"
            )
        else:
            each.add_argument("--logs", type=Path, default=Path(), help="folder of <name>.log")
    return parser.parse_args(given)


def judge(hardware_name: str, folder: Path) -> list[verdict.AcceptanceVerdict]:
    """Returns a verdict for each measurement; a missing log counts as empty."""
    logs = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.log")}
    return verdict.judge(logs, load(hardware_name))


def main(given: Sequence[str]) -> int:
    """Returns 0 for accepted, 1 for refused, 2 for hardware that is unknown or has no GPUs."""
    found = arguments(given)
    try:
        if found.verb == "logs":
            print(collecting(found.node), end="")  # noqa: T201  # it is the command's answer
            return 0
        if found.verb == "manifests":
            hardware = load(found.hardware)
            if not hardware.gpu_count:
                raise HardwareError(
                    f'--hardware is "{hardware.name}", which has no GPUs; allowed: a machine whose '
                    "GPUs can be measured, such as dgx-h200"
                )
            objects = manifests(hardware, found.node)
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
