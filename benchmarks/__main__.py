"""`python -m benchmarks`: ratios against a floor and the times of a rehearsal, in one run.

The exit code is 0 when every goal is met, else 1. All figures come from this machine and this run;
a ratio of two things timed in turns is more reliable than either time.
"""

import argparse
import json
import sys

from rich.console import Console

from benchmarks import checks, nodes, policies, previews, rehearsals
from benchmarks.machine import this_machine
from benchmarks.summary import Results
from toolchain.build import ensure

WIDTH = 100  # of tables in a file, which are cut at fewer columns


def main() -> int:
    """Measure and print; return the exit code."""
    arguments = _arguments()
    progress = Console(stderr=True)
    tools = ensure(console=progress)
    checkers = ensure(("butane-check",), console=progress)
    progress.print(f"Boot data of {nodes.NODES} nodes…")
    booted = nodes.measure(checkers)
    progress.print(f"Checks of a file in {arguments.runs} runs…")
    checked = checks.measure(arguments.environment, runs=arguments.runs)
    many = checks.measure_many(arguments.environment, runs=arguments.runs)
    progress.print(f"Previews of {arguments.environment} in {arguments.runs} runs…")
    measured = previews.measure(arguments.environment, tools, runs=arguments.runs)
    progress.print(f"Previews with each policy pack in {arguments.runs} runs…")
    packed = policies.measure(arguments.environment, tools, runs=arguments.runs)
    rehearsed = []
    for environment in arguments.rehearse:
        progress.print(f"Rehearsal of {environment}…")
        rehearsed.append(rehearsals.measure(environment))
    results = Results(
        machine=this_machine(),
        nodes=booted,
        checks=checked,
        throughput=many,
        previews=measured,
        policies=packed,
        rehearsals=rehearsed,
    )
    if arguments.json:
        sys.stdout.write(json.dumps(results.as_json(), indent=2) + "\n")
    else:
        console = Console()
        console.width = max(console.width, WIDTH)
        results.show(console)
    return 0 if all(goal.met for goal in results.goals()) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--environment", default="prod", help="environment to preview (prod)")
    parser.add_argument("--runs", type=int, default=5, help="paired previews (5)")
    parser.add_argument(
        "--rehearse", nargs="*", default=["dev", "prod"], help="environments (dev prod)"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON alone")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
