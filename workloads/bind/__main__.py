"""Starts a rank beside its GPU: torchrun --no-python … fleet-bind [--memory bind] -- command …"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence

from workloads.bind.memory import set_policy
from workloads.bind.placement import BindError, placement

CANNOT_START = 126


def arguments(given: Sequence[str]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(prog="fleet-bind", description=__doc__)
    parser.add_argument(
        "--memory",
        choices=("preferred", "bind"),
        default="preferred",
        help="bind ends a process that needs more than the NUMA node has",
    )
    parser.add_argument("command", nargs=argparse.REMAINDER)
    found = parser.parse_args(given)
    found.command = found.command[1:] if found.command[:1] == ["--"] else found.command
    if not found.command:
        parser.error("no command to start")
    return found


def run(command: Sequence[str]) -> str:
    """Returns a program's output; BindError with its last line where it fails."""
    try:
        return subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=60
        ).stdout
    except subprocess.CalledProcessError as error:
        said = (error.stderr or error.stdout).strip().splitlines() or ["nothing"]
        raise BindError(f"{command[0]} ended with {error.returncode}: {said[-1]}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BindError(f"{command[0]} cannot be asked for the GPUs: {error}") from error


def bind(given: argparse.Namespace) -> None:
    """Binds CPUs first: even without a memory policy, pages then come from their node."""
    place = placement(os.environ, os.sched_getaffinity(0), run)
    os.sched_setaffinity(0, place.cpus)
    try:
        set_policy(given.memory, place.numa_node)
    except OSError as error:
        advice = (
            "leave seccompProfile out of the pod, as a profile allows it only with CAP_SYS_NICE"
        )
        if given.memory == "bind":
            raise BindError(f"memory cannot be bound: {error}; {advice}") from error
        _say(f"no memory policy ({error}); {advice}")
    _say(place.sentence)


def _say(text: str) -> None:
    print(f"fleet-bind: {text}", file=sys.stderr, flush=True)  # noqa: T201  # stdout is the job's


def main() -> int:
    """Binds the process and replaces it by the command."""
    given = arguments(sys.argv[1:])
    try:
        bind(given)
        os.execvp(given.command[0], given.command)  # noqa: S606  # no shell is wanted
    except BindError as error:
        _say(str(error))
    except OSError as error:
        _say(f"{given.command[0]} cannot be started: {error}")
    return CANNOT_START


if __name__ == "__main__":
    sys.exit(main())
