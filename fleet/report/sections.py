"""What a rehearsal showed besides pools, cost and rules, a section each, ordered as by `--all`."""

from collections.abc import Iterator

from fleet.report.charts import charts
from fleet.report.controllers import controllers
from fleet.report.section import Fold, Section, Table, filled, folds, row, rows
from rehearsal import digest
from rehearsal.changes import rows as changed
from rehearsal.digest import Line, Mark, count
from rehearsal.faults import words as fault_words
from rehearsal.kills import Kill
from rehearsal.lakefs_held import HeldRepository
from rehearsal.moves import words as moves_words
from rehearsal.moves.result import Moves
from rehearsal.report import Report
from rehearsal.smoke import words as smoke_words
from rehearsal.smoke.results import Smoke

KILLS = ("Killed at", "Found", "Made again", "Uninstalled", "Useless", "Goes on after")
REPOSITORIES = ("Repository", "Storage", "Protected", "Actions", "Kept")


def sections(report: Report) -> list[Section]:
    """Return those of which the report has something."""
    found = (
        _since_the_last(report),
        _change(report),
        _jobs(report),
        controllers(report),
        _lakefs(report),
        charts(report),
        _kills(report),
        _faults(report),
        _destroy(report),
    )
    return [each for each in found if each]


def _since_the_last(report: Report) -> Section | None:
    if report.changes is None:
        return None
    found = rows(changed(report.changes))
    return Section(
        title="Since the last rehearsal",
        mark="plain",
        text="" if found else "Nothing has changed.",
        tables=filled([Table(head=("What", "Which"), rows=found)]),
    )


def _change(report: Report) -> Section | None:
    moves, line = report.moves, digest.moves(report)
    if moves is None or line is None:
        return None
    five = moves_words.five_lines(moves, report.environment)
    return Section(
        title="Change",
        mark=line.mark,
        text=moves_words.beginning(moves),
        lines=(*(Line(mark="plain", text=text) for text in five), *not_started(moves)),
        folds=folds([Fold(title="Every event", sentences=tuple(moves_words.events(moves)))]),
    )


def not_started(moves: Moves) -> Iterator[Line]:
    """Yield a warning for each job that does not run in the twin."""
    for sentence in moves.not_running:
        yield Line(mark="warning", about="not started", text=sentence)


def _jobs(report: Report) -> Section | None:
    smoke, line = report.smoke, digest.smoke(report)
    if smoke is None or line is None:
        return None
    return Section(
        title="Jobs",
        mark=line.mark,
        text=f"{line.text}.",
        lines=tuple(_of_jobs(smoke)),
        tables=filled(_smoke_tables(smoke)),
        folds=folds(
            [
                Fold(
                    title="Times that are shortened here",
                    tables=(_smoke_table(smoke_words.SHORTENED, _shortened(smoke)),),
                )
            ]
        ),
        note=smoke_words.rented_note(smoke) if smoke.machines else "",
    )


def _of_jobs(smoke: Smoke) -> Iterator[Line]:
    """Who refused a job or why it failed, and the kinds of which there is none."""
    for run in smoke.runs:
        if run.said:
            mark: Mark = "good" if run.as_it_must else "bad"
            yield Line(mark=mark, about=run.name, text=f"{run.outcome} {run.said}")
    for kind, why in smoke.left_out.items():
        yield Line(mark="plain", text=f"No {kind}: {why}.")


def _smoke_tables(smoke: Smoke) -> Iterator[Table]:
    jobs = (
        row(smoke_words.job_cells(run), "plain" if run.as_it_must else "bad") for run in smoke.runs
    )
    yield Table(head=smoke_words.JOBS, rows=tuple(jobs), numbers=frozenset(smoke_words.NUMBERS))
    machines = tuple(map(smoke_words.machine_cells, smoke.machines))
    yield _smoke_table(smoke_words.RENTED, machines)


def _smoke_table(head: tuple[str, ...], cells: tuple[tuple[str, ...], ...]) -> Table:
    return Table(head=head, rows=rows(cells), numbers=frozenset(smoke_words.NUMBERS))


def _shortened(smoke: Smoke) -> tuple[tuple[str, ...], ...]:
    return tuple(map(smoke_words.shortened_cells, smoke.shortened))


def _lakefs(report: Report) -> Section | None:
    held = report.lakefs
    if held is None:
        return None
    number = len(held.repositories)
    where = held.endpoint or "a fake of its API"
    return Section(
        title="lakeFS",
        mark="good",
        text=f"{number} {'repository' if number == 1 else 'repositories'} in {where}; "
        f"the administrator is {held.user}.",
        tables=filled(
            [
                Table(
                    head=REPOSITORIES,
                    rows=rows(map(_repository, held.repositories)),
                    long=frozenset({"Storage"}),
                )
            ]
        ),
    )


def _repository(one: HeldRepository) -> tuple[str, ...]:
    days = (f"{branch} {count(days, 'day')}" for branch, days in sorted(one.keep_days.items()))
    lists = (", ".join(one.protected), ", ".join(one.actions), ", ".join(days) or "for ever")
    return (one.name, one.storage_namespace, *lists)


def _kills(report: Report) -> Section | None:
    done, line = report.kills, digest.kills(report)
    if done is None or line is None:
        return None
    return Section(
        title="Kills",
        mark=line.mark,
        text=f"Killed: {line.text}.",
        lines=tuple(Line(mark="bad", text=problem) for problem in done.problems()),
        tables=filled(
            [
                Table(
                    head=KILLS,
                    rows=tuple(row(_kill(each, done.resources)) for each in done.kills),
                    numbers=frozenset(KILLS[1:]),
                )
            ]
        ),
        folds=folds(
            [
                Fold(title="What was pending at each kill", sentences=tuple(_pending(done.kills))),
                Fold(title="Killed and started again", lists=(("", done.restarted),)),
            ]
        ),
    )


def _kill(one: Kill, resources: int) -> tuple[object, ...]:
    pending = (one.found, one.not_there, one.uninstalled, one.useless)
    counts = (len(names) or "" for names in pending)
    return (f"{one.made} of {resources}", *counts, f"{one.seconds:.1f} s")


def _pending(kills: tuple[Kill, ...]) -> Iterator[str]:
    for kill in kills:
        ways = {"found": kill.found, "made again": kill.not_there, "useless": kill.useless}
        ways["uninstalled, half installed"] = kill.uninstalled
        told = [f"{way}: {', '.join(names)}" for way, names in ways.items() if names]
        yield f"at {kill.made}: {'; '.join(told) or 'nothing was pending'}"


def _faults(report: Report) -> Section | None:
    faults = report.faults
    if faults is None:
        return None
    stopped = [Line(mark="bad", text=faults.stopped)] if faults.stopped else []
    return Section(
        title="Faults",
        mark="bad" if [*faults.problems()] else "good",
        text=fault_words.gangs(faults),
        lines=(*fault_words.lines(faults), *stopped),
        tables=filled(
            [
                Table(
                    head=fault_words.HEAD,
                    rows=tuple(
                        row(fault_words.cells(run), "plain" if run.recovered else "bad")
                        for run in faults.runs
                    ),
                    numbers=frozenset(fault_words.NUMBERS),
                )
            ]
        ),
        folds=folds(
            Fold(
                title=f"{run.kind}@{run.at_s:g}: what was seen",
                sentences=tuple(fault_words.sentences(run)),
            )
            for run in faults.runs
        ),
    )


def _destroy(report: Report) -> Section | None:
    done, line = report.ending, digest.ending(report)
    if done is None or line is None:
        return None
    return Section(
        title="Destroy",
        mark=line.mark,
        text=f"{line.text}.",
        lines=tuple(Line(mark="bad", text=problem) for problem in done.problems()),
        tables=filled(
            [Table(head=("Protected, went by name", "In it"), rows=rows(done.protected.items()))]
        ),
        folds=folds([Fold(title="Gone with what they were in", lists=(("", done.inside),))]),
    )
