"""`python -m benchmarks [NAME…]`: ratios against a floor, and the times of what a user waits for.

Without a name it measures all. The exit code is 0 when every case ran and every goal is met, else
1. All figures come from this machine and this run; a ratio of two things timed in turns is more
reliable than either time.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console

from benchmarks import checks, gang, jobs, nodes, owned, pods, policies, previews, rehearsals
from benchmarks.machine import this_machine
from benchmarks.summary import Results
from toolchain.build import Tools, ensure

WIDTH = 100  # of tables in a file, which are cut at fewer columns
Case = Callable[[argparse.Namespace, Tools, Console], Mapping[str, Any]]
"""Measures, and returns fields of the results."""


def main() -> int:
    """Measure and print; return the exit code."""
    arguments = _arguments()
    progress = Console(stderr=True)
    tools = ensure(console=progress)
    found: dict[str, Any] = {}
    failed: dict[str, str] = {}
    for name in arguments.names or CASES:
        progress.print(f"{name}…")
        try:
            measured = CASES[name](arguments, tools, progress)
        except RuntimeError as error:  # the other cases have figures all the same
            failed[name] = str(error)
            continue
        for key, figures in measured.items():
            found[key] = [*found.get(key, ()), *figures] if key == "placed" else figures
    results = Results(machine=this_machine(), failed=failed, **found)
    if arguments.json:
        sys.stdout.write(json.dumps(results.as_json(), indent=2) + "\n")
    else:
        console = Console()
        console.width = max(console.width, WIDTH)
        results.show(console)
    return 0 if not failed and all(goal.met for goal in results.goals()) else 1


def _nodes(_: argparse.Namespace, __: Tools, progress: Console) -> Mapping[str, Any]:
    return {"nodes": nodes.measure(ensure(("butane-check",), console=progress))}


def _checks(asked: argparse.Namespace, _: Tools, __: Console) -> Mapping[str, Any]:
    return {
        "checks": checks.measure(asked.environment, runs=asked.runs),
        "throughput": checks.measure_many(asked.environment, runs=asked.runs),
    }


def _previews(asked: argparse.Namespace, tools: Tools, _: Console) -> Mapping[str, Any]:
    return {"previews": previews.measure(asked.environment, tools, runs=asked.runs)}


def _policies(asked: argparse.Namespace, tools: Tools, _: Console) -> Mapping[str, Any]:
    return {"policies": policies.measure(asked.environment, tools, runs=asked.runs)}


def _rehearsals(asked: argparse.Namespace, _: Tools, __: Console) -> Mapping[str, Any]:
    return {"rehearsals": [rehearsals.measure(each) for each in asked.rehearse]}


def _gang(asked: argparse.Namespace, tools: Tools, _: Console) -> Mapping[str, Any]:
    return {"placed": [gang.measure(tools, machines=asked.machines or gang.MACHINES)]}


def _jobs(asked: argparse.Namespace, tools: Tools, _: Console) -> Mapping[str, Any]:
    return {"placed": [jobs.measure(tools, machines=asked.machines or jobs.MACHINES)]}


def _pods(asked: argparse.Namespace, tools: Tools, _: Console) -> Mapping[str, Any]:
    return {"pods": pods.measure(tools, machines=asked.machines or pods.MACHINES)}


def _owned(asked: argparse.Namespace, tools: Tools, _: Console) -> Mapping[str, Any]:
    return {"owned": owned.measure(tools, sizes=asked.sizes)}


CASES: Mapping[str, Case] = {
    "nodes": _nodes,
    "checks": _checks,
    "previews": _previews,
    "policies": _policies,
    "rehearsals": _rehearsals,
    "gang": _gang,
    "jobs": _jobs,
    "pods": _pods,
    "owned": _owned,
}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(CASES)} (all)")
    parser.add_argument("--environment", default="prod", help="environment to preview (prod)")
    parser.add_argument("--runs", type=int, default=5, help="paired previews (5)")
    parser.add_argument(
        "--rehearse", nargs="*", default=["dev", "prod"], help="environments (dev prod)"
    )
    machines = f"of gang and jobs ({gang.MACHINES}), of pods ({pods.MACHINES})"
    parser.add_argument("--machines", type=int, help=machines)
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=owned.SIZES, help="of owned (100 300 1000)"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON alone")
    asked = parser.parse_args()
    if unknown := sorted(set(asked.names) - set(CASES)):
        parser.error(f"there is no case {unknown[0]!r}: choose from {', '.join(CASES)}")
    return asked


if __name__ == "__main__":
    sys.exit(main())
