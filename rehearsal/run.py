"""Runs one rehearsal from its first process to its report.

Phases: binaries, control plane, preview, up, machines, charts, smoke (whose jobs begin before the
charts), destroy where it is asked for, stop. No process keeps running after an early end (a
refusal, a broken machine, Ctrl-C). A rule or a program that fails at preview ends the rehearsal
before anything is created.
"""

import errno
import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from engine.events import Outcome
from engine.findings_log import FindingsLogError
from engine.interrupts import shielded
from policies.environment import Environment
from rehearsal import controller_report, refusals, report_builder, source, statement
from rehearsal.api import Api
from rehearsal.changes import Running, since
from rehearsal.charts import lock
from rehearsal.charts.rehearse import Equipment, find_all, rehearse, with_lock
from rehearsal.controller_report import ControllerReport
from rehearsal.controllers.controller import Controllers
from rehearsal.controllers.ours import not_run, start_ours
from rehearsal.digest import count
from rehearsal.engine import Engine, EngineError, EngineKilledError, forget_findings
from rehearsal.errors import NoBeginningError, RefusedError, RehearsalError
from rehearsal.extras import Extras
from rehearsal.killed_controllers import ControllerKills
from rehearsal.kills import KilledUpdate
from rehearsal.last_phases import end, put_faults_in
from rehearsal.machines import Fleet, MachineBooter
from rehearsal.moves.change import Asked, Change
from rehearsal.moves.result import Moves, beyond
from rehearsal.progress import Phase, Progress, RunningPhase
from rehearsal.providers import cloud
from rehearsal.report import Report
from rehearsal.smoke import run as smoke
from rehearsal.smoke.words import in_short
from rehearsal.twin import Twin, reopen, set_up
from rehearsal.workspace import Workspace
from settings.names import RELEASE
from toolchain.build import ToolchainError, Tools, ensure, versions
from toolchain.layout import Layout

EXPECTED = (RehearsalError, ToolchainError, FindingsLogError)


class Rehearsal:
    """A rehearsal of the environment in the stack file `tracked`.

    `charts` is a folder of the user's with Helm charts. With `before` the twin first has another
    commit running.
    """

    def __init__(  # noqa: PLR0913  # what it is of, and how
        self,
        workspace: Workspace,
        environment: Environment,
        tracked: Path,
        progress: Progress,
        *,
        charts: Path | None = None,
        before: Asked | None = None,
        extras: Extras | None = None,
    ) -> None:
        self.workspace = workspace
        self.extras = extras
        self.environment = environment
        self.tracked = tracked
        self.progress = progress
        self.source = source.read(workspace.root)
        self.versions: Mapping[str, str] = (
            versions  # of the programs, until those that run are known
        )
        self.charts = charts
        self.change = Change(workspace, environment, tracked, before) if before else None
        sha256 = hashlib.sha256(tracked.read_bytes()).hexdigest()
        self.report = replace(report_builder.planned(environment), stack_file_sha256=sha256)

    def run(self, *, keep: bool, again: bool) -> Report:
        """Runs every phase; the report says whether the environment passed, and if not, why.

        With `again` it updates the twin that an earlier rehearsal has kept, and keeps it.
        Run it inside `interruptible()`: it raises `Interrupted` after it has stopped everything.
        Raises RehearsalError if another rehearsal of the environment is running.
        """
        with self.workspace.held():
            self._begin(again=again)
            try:
                self._rehearse(again=again)
            except Exception as error:
                reason = self._reason(error)
                if reason is None:
                    self._stop(again=again)
                    raise
                told = isinstance(error, NoBeginningError) and reason == str(error)
                self.report = replace(self.report, no_beginning=told).failed(*reason.splitlines())
            except BaseException:
                self._stop(again=again)
                raise
            finally:
                if self.change:
                    self.change.close()
            with shielded(forget=True):
                self._finish(keep=keep, again=again)
        return self.report

    def _reason(self, error: Exception) -> str | None:
        """Returns why the rehearsal cannot go on; None for a mistake of this program."""
        if broken := self.workspace.processes.ended():
            return broken
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            return f"The disk of {self.workspace.directory} is full: free some space."
        return str(error) if isinstance(error, EXPECTED) else None

    def _begin(self, *, again: bool) -> None:
        if again:
            self.workspace.resume()
            forget_findings(self.workspace.directory)
            for path in (self.workspace.statement, self.workspace.signed_statement):
                path.unlink(missing_ok=True)
        elif left := self.workspace.begin():
            self.progress.note(f"Stopped what a killed rehearsal left running: {', '.join(left)}.")

    def _stop(self, *, again: bool) -> None:
        """Ends everything; a kept twin stays where its engine could still write its state."""
        with shielded(forget=True):
            self.progress.note("Stopping …")
            kept = again and self.workspace.processes.finish_engine()
            ended = () if kept else self._end()
        what = "the twin is kept" if kept else ", ".join(ended) or "nothing was running yet"
        self.progress.note(f"Stopped in {self.progress.current}: {what}.")

    def _finish(self, *, keep: bool, again: bool) -> None:
        """Ends or keeps the twin and writes the report; a twin is kept even after a failure."""
        ended_in = self.progress.current
        whole = again or (keep and self.report.resources is not None)
        kept = whole and not self.workspace.processes.ended()
        if kept and (self.report.cost or not again):
            self._running().write(self.workspace.kept_mark)
        if not kept:
            with self.progress.phase("stop"):
                self._end()
        known = report_builder.as_far_as_known(
            self.report, self.environment, self.workspace.directory, ended_in
        )
        self.report = replace(
            known,
            ended=datetime.now(UTC).isoformat(timespec="seconds"),
            passed=not self.report.problems,
            phases=tuple(self.progress.phases),
            kept=kept,
        )
        self.workspace.report.write_text(json.dumps(self.report.as_json(), indent=1))
        if again or self.change:  # neither vouches for a first `up` of this stack file
            return
        stated = statement.statement(
            self.report, source.since(self.source, self.workspace.root), self.versions
        )
        self.workspace.statement.write_text(json.dumps(stated, indent=1))

    def _rehearse(self, *, again: bool) -> None:
        phase, directory = self.progress.phase, self.workspace.directory
        started = time.monotonic()
        lock.read(lock.path(self.workspace.root, self.workspace.environment))  # or refused late
        tools = ensure(console=self.progress.console)
        self.versions = tools.versions
        self.progress.phases.append(Phase(name="binaries", seconds=time.monotonic() - started))
        twin = self._twin(tools, again=again)
        engine, api = twin.engine, twin.control_plane.api
        plan = self._preview(twin)
        with phase("up") as now:
            outcome = self._changed(twin, plan, now)
        self._report_up(engine, plan, outcome)
        self.report = report_builder.with_lakefs(self.report, twin.lakefs())
        with phase("machines") as now:
            fleet = self._boot(now, MachineBooter(api=api, directory=directory))
            start_ours(self._controllers(twin))
        self.report = report_builder.with_fleet(self.report, self.environment.settings, fleet)
        if self.change:
            with phase("change") as now:
                self._tell(self.change, outcome, now)
        self._run_jobs(twin, fleet, tools)
        extras, settings = self.extras, self.environment.settings
        if extras and extras.faults:
            self.report = put_faults_in(
                self.report, extras, self.progress, settings, self._controllers(twin)
            )
        used = self._used(api, outcome)
        self.report = report_builder.with_controllers(self.report, used, not_run(api))
        if again:
            before = Running.read(self.workspace.kept_mark)
            changes = since(before, self._running(), outcome.changes)
            self.report = replace(self.report, changes=changes)
        if extras and extras.destroy:
            self.report = end(self.report, extras, self.progress, settings, twin)
        api.close()

    def _run_jobs(self, twin: Twin, fleet: Fleet, tools: Tools) -> None:
        """Runs the smoke set; charts are rendered meanwhile, or after kills of controllers."""
        api, killed = twin.control_plane.api, self._controllers_to_kill(twin)
        watch = killed.look if killed else self.workspace.processes.check
        settings, directory = self.environment.settings, self.workspace.directory
        with smoke.running(api, settings, fleet, directory, watch) as jobs:
            if killed is None:
                self._render(api, tools)
            self._wait_for(jobs)
        if killed:
            self._tell_of(killed)
            self._render(api, tools)

    def _wait_for(self, jobs: smoke.RunningSmoke) -> None:
        """Waits for the smoke set; a kind that does not do what it must fails the rehearsal."""
        with self.progress.phase("smoke") as now:
            jobs.wait(now.say)
            found = jobs.result()
            now.say(in_short(found) or "no machine for any of them")
            if found.problems:
                now.fail(now.detail)
        self.report = replace(self.report, smoke=found).failed(*found.problems)

    def _controllers_to_kill(self, twin: Twin) -> ControllerKills | None:
        extras = self.extras
        if extras is None or not extras.kills:
            return None
        return ControllerKills(controllers=self._controllers(twin), seed=extras.seed)

    def _tell_of(self, killed: ControllerKills) -> None:
        """Says what the kills of controllers did to the machines that the smoke set rented."""
        killed.finish()
        before = self.report.kills
        if before and self.report.smoke:
            kills = killed.told(before, self.report.smoke)
            new = [each for each in kills.problems() if each not in [*before.problems()]]
            self.report = replace(self.report, kills=kills).failed(*new)

    def _tell(self, change: Change, outcome: Outcome, now: RunningPhase) -> None:
        """Says what the change did; more than the settings allow fails the rehearsal."""
        moves = change.told(outcome, now.say)
        self._tell_moves(moves)
        now.say(f"{len(moves.ended)} of {moves.jobs} jobs ended")
        if self.report.problems:
            now.fail(now.detail)
        change.clear()  # where this fails, the report has the change

    def _tell_moves(self, moves: Moves) -> None:
        allow = self.environment.settings.rehearsal.allow
        self.report = replace(self.report, moves=moves).failed(*beyond(moves, allow))

    def _controllers(self, twin: Twin) -> Controllers:
        return Controllers(
            api=twin.control_plane.api,
            directory=self.workspace.directory.resolve(),
            processes=self.workspace.processes,
            environment=twin.engine.environment,
            root=self.workspace.root,
        )

    def _used(self, api: Api, outcome: Outcome) -> tuple[ControllerReport, ...]:
        has = outcome.exports.get("versions") or {}
        directory = self.workspace.directory
        return controller_report.read(api, directory, versions=self.versions, environment=has)

    def _twin(self, tools: Tools, *, again: bool) -> Twin:
        """Returns the twin, as empty, kept or with the commit before the change running."""
        if self.change:
            return self.change.bring_up(tools, self.progress, self._controllers)
        with self.progress.phase("control plane") as now:
            make = reopen if again else set_up
            twin = make(self.workspace, self.environment, self.tracked, tools)
            now.say(f"Kubernetes {tools.versions['kubernetes']}")
        return twin

    def _changed(self, twin: Twin, plan: Outcome, now: RunningPhase) -> Outcome:
        """Updates; what a change that fails on its way has done by then is told, too."""
        try:
            return self._brought_up(twin, plan, now)
        except (EngineError, EngineKilledError) as error:
            if self.change:
                try:
                    self._tell_moves(self.change.so_far(error.outcome))
                except RefusedError as refused:  # the API server; the engine's reason comes first
                    self.progress.note(f"What the change has done is not known: {refused}")
            raise

    def _brought_up(self, twin: Twin, plan: Outcome, now: RunningPhase) -> Outcome:
        """Updates, and where it is asked for, kills the update again and again."""
        engine, extras = twin.engine, self.extras
        if extras is None or not extras.kills:
            return self._up(
                engine, lambda done: now.say(f"{done.finished} of {plan.started} resources")
            )
        update = KilledUpdate(
            twin=twin,
            extras=extras,
            resources=plan.started,
            say=now.say,
        )
        try:
            outcome, kills = update.run()
        except RehearsalError:
            kills = update.so_far
            self.report = replace(self.report, kills=kills).failed(*kills.problems())
            raise
        now.say(f"{count(len(kills.kills), 'kill')}, seed {kills.seed}")
        self.report = replace(self.report, kills=kills).failed(*kills.problems())
        if self.report.problems:
            now.fail(now.detail)
        return outcome

    def _preview(self, twin: Twin) -> Outcome:
        """Previews; what is refused does not stay in a kept twin."""
        try:
            with self.progress.phase("preview") as now:
                return twin.engine.preview(lambda done: now.say(f"{done.started} resources"))
        except BaseException:
            twin.take_back()
            raise

    def _report_up(self, engine: Engine, plan: Outcome, outcome: Outcome) -> None:
        things = cloud.read(self.workspace.directory)
        report = report_builder.with_up(
            self.report, self.environment, outcome, things, self.versions
        )
        report = report_builder.with_verdicts(report, self.environment, engine.findings("up"))
        warnings = dict.fromkeys([*plan.warnings(), *outcome.warnings()])
        self.report = replace(report, warnings=tuple(sorted(warnings)))  # said at the same time

    def _render(self, api: Api, tools: Tools) -> None:
        """Renders the charts of the releases; one that is refused fails the rehearsal."""
        with self.progress.phase("charts") as now:
            self._rendered(now, api, tools)

    def _rendered(self, now: RunningPhase, api: Api, tools: Tools) -> None:
        equipment = Equipment(
            api=api,
            helm=tools.path("helm"),
            toolchain=tools.charts,
            store=Layout().home / "fetched",
            folder=self.charts,
        )
        things = cloud.read(self.workspace.directory)
        releases = [thing for thing in things if thing.type == RELEASE]
        found = find_all(equipment, releases)
        charts = rehearse(equipment, releases, found, self.environment.rules)
        file = lock.path(self.workspace.root, self.workspace.environment)
        self.report = report_builder.with_charts(self.report, with_lock(charts, file), found)
        now.say(f"{len(charts.rendered)} of {len(releases)} rendered")
        if charts.problems:
            now.fail(now.detail)

    def _boot(self, now: RunningPhase, room: MachineBooter) -> Fleet:
        def progress(ready: int, of: int) -> None:
            self.workspace.processes.check()
            now.say(f"{ready} of {of} nodes Ready")

        fleet = room.start(progress)
        if fleet.refusals:
            now.fail(now.detail)
        return fleet

    def _running(self) -> Running:
        """What the twin has running after the phase `machines`."""
        nodes, cost = tuple(node.name for node in self.report.nodes), self.report.cost
        return Running(nodes=nodes, usd_per_hour=cost.usd_per_hour if cost else None)

    def _up(self, engine: Engine, progress: Callable[[Outcome], None]) -> Outcome:
        """Updates the twin; a machine that does not come up ends neither update nor rehearsal.

        The phase `machines` then says which ones and why, and the jobs run on the others. A change
        stops where a user's would, as its report says what is done by then.
        """
        try:
            return engine.up(progress, past_errors=self.change is None)
        except EngineError as error:
            if not refusals.read(self.workspace.directory):
                raise
            return error.outcome

    def _end(self) -> tuple[str, ...]:
        ended = self.workspace.processes.stop()
        try:
            self.workspace.clear_twin()
        except RehearsalError as error:  # what is left on a server of the user's
            self.progress.note(str(error))
            self.report = self.report.failed(str(error))
        return ended
