"""`python -m benchmarks.gangs [SCHEDULER …]`: runs the matrix and writes its page.

Each scheduler takes about five minutes. What is measured replaces what earlier runs have measured
of it, so that the schedulers can be run one at a time. The programs are built when they are first
needed: Kueue and the second Kubernetes take 5 to 8 minutes each on two cores.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from benchmarks.gangs.ground import ROOT, opened
from benchmarks.gangs.page import page
from benchmarks.gangs.results import Measured, Row, merged, read, starts, text, too_many
from benchmarks.gangs.scenarios import SCENARIOS, Scenario
from benchmarks.gangs.scheduler import Scheduler
from benchmarks.gangs.schedulers import SCHEDULERS, kubernetes_of
from benchmarks.gangs.trial import Trial
from benchmarks.machine import this_machine
from rehearsal.errors import RefusedError, RehearsalError
from toolchain.build import REHEARSAL, ToolchainError, Tools, ensure, versions

PAGE = ROOT / "docs" / "gangs-and-autoscalers.md"
KEPT = PAGE.with_suffix(".json")


def main() -> int:
    """Run the command line; return its exit code."""
    arguments = _arguments()
    console = Console(stderr=True)
    scenarios = [each for each in SCENARIOS if each.name in arguments.scenario]
    kept = Kept(path=arguments.results)
    for name in () if arguments.page else arguments.schedulers or SCHEDULERS:
        for measured in measure(SCHEDULERS[name], scenarios, console):
            kept.add(measured)
    kept.write()
    if arguments.json:
        sys.stdout.write(text(kept.results))
    return 0


class Kept:
    """The results in the file `path`, with the page beside it."""

    def __init__(self, *, path: Path) -> None:
        self.path = path
        self.results: tuple[Measured, ...] = read(path)

    def add(self, measured: Measured) -> None:
        """Keep what one more run has measured."""
        self.results = merged(self.results, measured)
        self.write()

    def write(self) -> None:
        """Write both files."""
        self.path.write_text(text(self.results), encoding="utf-8")
        self.path.with_suffix(".md").write_text(page(self.results), encoding="utf-8")


def measure(
    scheduler: Scheduler, scenarios: Sequence[Scenario], console: Console
) -> Iterator[Measured]:
    """Run scenarios with one scheduler, and yield each row when it is there.

    A scheduler that cannot be built or started is a result too.
    """
    about = Measured(
        name=scheduler.name,
        title=scheduler.title,
        kubernetes=kubernetes_of(scheduler),
        karpenter=versions["karpenter"],
        on=scheduler.on,
        written=scheduler.written,
        date=datetime.now(UTC).date().isoformat(),
        machine=str(this_machine()),
    )
    console.print(f"{about.title}, Kubernetes {about.kubernetes}", markup=False)
    try:
        tools = ensure((*REHEARSAL, *scheduler.programs), console=console)
    except ToolchainError as error:
        yield replace(about, missing=f"not built: {error}")
        return
    with TemporaryDirectory(prefix="gangs-") as directory:
        try:
            for row in _rows(scheduler, scenarios, tools, Path(directory), console):
                yield replace(about, rows=(row,))
        except (RefusedError, RehearsalError) as error:
            console.print(f"  {error}", markup=False)
            yield replace(about, missing=f"not started: {error}")


def _rows(
    scheduler: Scheduler,
    scenarios: Sequence[Scenario],
    tools: Tools,
    directory: Path,
    console: Console,
) -> Iterator[Row]:
    with opened(
        directory,
        tools,
        control_plane=scheduler.control_plane,
        gates=scheduler.gates,
        apis=scheduler.apis,
    ) as ground:
        with console.status("starts…"):
            scheduler.install(ground)
        for scenario in scenarios:
            row = _row(Trial(ground=ground, scheduler=scheduler, scenario=scenario), console)
            if row:
                yield row


def _row(trial: Trial, console: Console) -> Row | None:
    """Run a scenario; one that cannot be prepared has no row, and is told."""
    title = trial.scenario.title
    try:
        with console.status(f"{title}…"):
            row = trial.run()
    except (RefusedError, RehearsalError) as error:
        console.print(f"  {title}: not run: {error}", markup=False, soft_wrap=True)
        return None
    console.print(f"  {title}: {_told(row)}", markup=False, soft_wrap=True)
    return row


def _told(row: Row) -> str:
    parts = ["as it should" if starts(row) else "does not start"]
    parts += [f"{row.seconds:.1f} s"] if row.seconds is not None else []
    parts += [f"{row.rounds} rounds", f"{row.made} made", f"{too_many(row)} too many"]
    return ", ".join((*parts, f"{row.evictions} evictions"))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gangs", description=__doc__)
    parser.add_argument(
        "schedulers", nargs="*", metavar="SCHEDULER", help=f"of {', '.join(SCHEDULERS)} (all)"
    )
    names = [each.name for each in SCENARIOS]
    parser.add_argument("--scenario", nargs="+", choices=names, default=names, help="(all)")
    parser.add_argument("--page", action="store_true", help="run nothing, write the page anew")
    parser.add_argument("--json", action="store_true", help="print the results as JSON, too")
    parser.add_argument(
        "--results", type=Path, default=KEPT, help=f"where they are kept, beside the page ({KEPT})"
    )
    found = parser.parse_args()
    unknown = [name for name in found.schedulers if name not in SCHEDULERS]
    if unknown:
        parser.error(f"no scheduler is called {unknown[0]!r}: there are {', '.join(SCHEDULERS)}")
    return found


if __name__ == "__main__":
    sys.exit(main())
