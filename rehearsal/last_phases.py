"""The phases that follow the smoke set where they are asked for: faults, and the end."""

from dataclasses import replace

from rehearsal.controllers.controller import Controllers
from rehearsal.digest import count
from rehearsal.ending import take_down
from rehearsal.extras import Extras
from rehearsal.faults.run import FaultRehearsal
from rehearsal.progress import Progress
from rehearsal.report import Report
from rehearsal.twin import Twin
from settings import Settings
from toolchain.build import ensure


def put_faults_in(
    report: Report,
    extras: Extras,
    progress: Progress,
    settings: Settings,
    controllers: Controllers,
) -> Report:
    """Put the faults in, one after another; return the report with what the fleet made of them."""
    with progress.phase("faults") as now:
        built = ensure(("prometheus",), console=progress.console)
        faults = FaultRehearsal(
            api=controllers.api,
            controllers=controllers,
            settings=settings,
            root=controllers.root,
            promtool=built.path("prometheus").with_name("promtool"),
            say=now.say,
        ).run(extras.faults)
        now.say(", ".join(each.word for each in extras.faults))
        if [*faults.problems()]:
            now.fail(now.detail)
    return replace(report, faults=faults).failed(*faults.problems())


def end(
    report: Report, extras: Extras, progress: Progress, settings: Settings, twin: Twin
) -> Report:
    """Take everything down; return the report with what is left."""
    with progress.phase("destroy") as now:
        ending = take_down(twin, settings, extras.take_down, now.say)
        now.say(f"{count(ending.resources, 'resource')}, {len(ending.left)} left")
        if [*ending.problems()]:
            now.fail(now.detail)
    return replace(report, ending=ending).failed(*ending.problems())
