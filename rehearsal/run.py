"""Runs one rehearsal from its first process to its report.

Phases: binaries, control plane, preview, up, machines, job, stop. No process keeps running
after an early end (a refusal, a broken machine, Ctrl-C). A rule or a program that fails at preview
ends the rehearsal before anything is created.
"""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from engine.events import Outcome
from engine.findings_log import FindingsLogError
from engine.interrupts import shielded
from policies.environment import Environment
from rehearsal import job, refusals, report_builder
from rehearsal.control_plane import last_line
from rehearsal.engine import Engine, EngineError
from rehearsal.errors import RehearsalError
from rehearsal.machines import MachineBooter
from rehearsal.progress import Phase, Progress
from rehearsal.providers import cloud
from rehearsal.report import Report
from rehearsal.twin import set_up
from rehearsal.workspace import Workspace
from toolchain.build import ToolchainError, ensure, versions


class Rehearsal:
    """A rehearsal of the environment in the stack file `tracked`."""

    def __init__(
        self, workspace: Workspace, environment: Environment, tracked: Path, progress: Progress
    ) -> None:
        self.workspace = workspace
        self.environment = environment
        self.tracked = tracked
        self.progress = progress
        self.report = report_builder.planned(environment)

    def run(self, *, keep: bool) -> Report:
        """Runs every phase; the report says whether the environment passed, and if not, why.

        Run it inside `interruptible()`: it raises `Interrupted` after it has stopped everything.
        Raises RehearsalError if another rehearsal of the environment is running.
        """
        with self.workspace.held():
            left = self.workspace.begin()
            if left:
                self.progress.note(
                    f"Stopped what a killed rehearsal left running: {', '.join(left)}."
                )
            try:
                self._rehearse()
            except (RehearsalError, ToolchainError, FindingsLogError) as error:
                self.report = self.report.failed(*self._blame(str(error)).splitlines())
            except BaseException:
                ended = ", ".join(self._end()) or "nothing was running yet"
                self.progress.note(f"Stopped in {self.progress.current}: {ended}.")
                raise
            with shielded(forget=True):
                self._finish(keep=keep)
        return self.report

    def _finish(self, *, keep: bool) -> None:
        """Ends or keeps the twin and writes the report; a twin is kept even after a failure."""
        kept = keep and self.report.resources is not None
        if kept:
            self.workspace.kept_mark.touch()
        else:
            with self.progress.phase("stop"):
                self._end()
        self.report = replace(
            self.report,
            passed=not self.report.problems,
            phases=tuple(self.progress.phases),
            kept=kept,
        )
        text = json.dumps(self.report.as_json(), indent=1)
        (self.workspace.directory / "report.json").write_text(text)

    def _rehearse(self) -> None:
        phase, directory = self.progress.phase, self.workspace.directory
        started = time.monotonic()
        tools = ensure(console=self.progress.console)
        self.progress.phases.append(Phase(name="binaries", seconds=time.monotonic() - started))
        with phase("control plane") as now:
            twin = set_up(self.workspace, self.environment, self.tracked, tools)
            now.say(f"Kubernetes {versions['kubernetes']}")
        engine, api = twin.engine, twin.control_plane.api
        with phase("preview") as now:
            plan = engine.preview(lambda done: now.say(f"{done.started} resources"))
        with phase("up") as now:
            outcome = self._up(
                engine, lambda done: now.say(f"{done.finished} of {plan.started} resources")
            )
        warnings = dict.fromkeys([*plan.warnings(), *outcome.warnings()])
        things = cloud.read(directory)
        self.report = report_builder.with_up(
            self.report, self.environment, outcome, things, versions
        )
        self.report = report_builder.with_verdicts(
            self.report, self.environment, engine.findings("up")
        )
        self.report = replace(self.report, warnings=tuple(warnings))
        with phase("machines") as now:
            room = MachineBooter(api=api, directory=directory)
            fleet = room.start(lambda ready, of: now.say(f"{ready} of {of} nodes Ready"))
        self.report = report_builder.with_fleet(self.report, self.environment.settings, fleet)
        with phase("job") as now:
            run = job.run(api, fleet.nodes)
            now.say(f"{run.name} on {run.node}" if run else "no owned GPU machine to run it on")
        self.report = replace(self.report, job=run)
        api.close()

    def _up(self, engine: Engine, progress: Callable[[Outcome], None]) -> Outcome:
        """Updates the twin; a machine that does not come up ends the update, not the rehearsal.

        The phase `machines` then says which ones and why.
        """
        try:
            return engine.up(progress)
        except EngineError as error:
            if not refusals.read(self.workspace.directory):
                raise
            return error.outcome

    def _end(self) -> tuple[str, ...]:
        ended = self.workspace.processes.stop()
        self.workspace.clear_twin()
        return ended

    def _blame(self, problem: str) -> str:
        """Returns the problem, or the server whose crash caused it."""
        processes = self.workspace.processes
        for record in processes.records():
            if not record.name.startswith("pulumi") and not record.leader():
                log = processes.log(record.name)
                return (
                    f"{record.name} ended during the rehearsal: {last_line(log)} "
                    f"(log: {log}). It caused: {problem}"
                )
        return problem
