"""What a change did, in the five lines of a pull request, and in the one of a terminal."""

from collections.abc import Iterator, Sequence
from typing import Literal

from rehearsal.moves.result import ASSUMED_HOURS, REPLACED_S, Drifted, EndedJob, Moves

SHOWN = 8
SHORT = 12
"""Digits of a commit."""
NO_MACHINE = "none replaced, reinstalled, rebooted or drained"
NOT_DONE = f"Karpenter is not done after {REPLACED_S / 60:g} min"


def five_lines(moves: Moves, environment: str) -> tuple[str, ...]:
    """Return what reviewers want to know of a change, a line each."""
    return (
        _jobs(moves),
        _machines(moves),
        _due(moves, environment),
        _fields(moves),
        _capacity(moves),
    )


def one_line(
    moves: Moves, environment: str, *, passed: bool = True
) -> tuple[Literal["good", "warning", "bad"], str]:
    """Return the same in one line, and how it is to be taken in a rehearsal that has passed."""
    due = sum(len(each.machines) for each in moves.due)
    parts = [f"{len(moves.ended)} ended" if moves.ended else "none ended"]
    parts += [f"{_number(len(n), 'machine')} {what}" for what, n in _by_what(moves).items()]
    kept = sum(each.by_budget for each in moves.drifted)
    parts += [f"{kept} rented {'stays' if kept == 1 else 'stay'} as before"] if kept else []
    pending = len(moves.drifted) - kept
    parts += [f"{pending} rented not replaced yet"] if pending else []
    reinstall = f"`fleet reinstall {environment}`"
    parts += [f"{due} {'waits' if due == 1 else 'wait'} for {reinstall}"] if due else []
    parts += [usd(moves)] if moves.usd or moves.unpriced else []
    parts += [f"{_number(len(moves.not_running), 'job')} not started"] if moves.not_running else []
    text = f"from {moves.commit[:SHORT]} with {_jobs_running(moves)}: {', '.join(parts)}"
    if not moves.ended and not moves.not_running:
        return "good", text
    return ("warning" if passed else "bad"), text


def _jobs_running(moves: Moves) -> str:
    if moves.gangs == moves.jobs:
        return _number(moves.gangs, "running gang")
    gangs = f" ({_number(moves.gangs, 'gang')})" if moves.gangs else ""
    return f"{_number(moves.jobs, 'running job')}{gangs}"


def _number(number: int, of: str) -> str:
    return f"{number} {of}{'' if number == 1 else 's'}"


def _jobs(moves: Moves) -> str:
    gangs = f" ({_number(moves.gangs, 'gang')})" if 0 < moves.gangs < moves.jobs else ""
    what = "Gangs" if moves.gangs and not gangs else "Jobs"
    line = f"{what}: {len(moves.ended)} of {moves.jobs}{gangs} ended"
    if moves.ended:
        again = sum(bool(job.again_on) for job in moves.ended)
        assumed = "" if moves.snapshot else f" (each taken to be {ASSUMED_HOURS:g} h old)"
        line += (
            f", {again} started again{_to_come(moves)}: "
            f"{_some([_ended(job) for job in moves.ended])}; "
            f"{moves.gpu_hours_lost:,.1f} GPU-hours lost{assumed}"
        )
    if moves.waited:
        named = dict.fromkeys(each.job for each in moves.waited)
        line += f"; drains wait for the end of {_some([*named])}"
    if moves.not_running:
        why = moves.not_running[0].removesuffix(".")
        line += f"; {len(moves.not_running)} not started in the twin, such as {why}"
    return f"{line}."


def _to_come(moves: Moves) -> str:
    number = sum(job.to_come for job in moves.ended)
    return f", {number} still to end as {NOT_DONE}" if number else ""


def _ended(job: EndedJob) -> str:
    what = f"{job.name} (a gang of {job.gpus:g} GPUs)" if job.gang else job.name
    times = f", {job.times} times" if job.times > 1 else ""
    at = "still to end" if job.to_come else f"at {job.at_s:.0f} s"
    return f"{what} on {job.node} {at}{times}"


def _machines(moves: Moves) -> str:
    told = [f"{len(names)} {what}: {_some(names)}" for what, names in _by_what(moves).items()]
    line = f"in their order: {'; '.join(told)}" if told else NO_MACHINE
    kept = "".join(f". {each}" for each in _drifted(moves.drifted))
    return f"Machines{',' if told else ':'} {line}{kept}."


def _by_what(moves: Moves) -> dict[str, list[str]]:
    """Return the machines by what happened to them, such as `drained and replaced`, in order."""
    whats: dict[str, list[str]] = {}
    for move in moves.machines:
        whats.setdefault(move.name, []).append(move.what)
    found: dict[str, list[str]] = {}
    for name, each in whats.items():
        found.setdefault(" and ".join(dict.fromkeys(each)), []).append(name)
    return found


def _drifted(drifted: Sequence[Drifted]) -> Iterator[str]:
    """Yield which rented machines go on as they were, and for which it is only a matter of time."""
    kept = [each for each in drifted if each.by_budget]
    pending = [each for each in drifted if not each.by_budget]
    if kept:
        budgets = " and ".join(sorted({each.node_pool for each in kept}))
        stay = "stays" if len(kept) == 1 else "stay"
        yield (
            f"{_rented(kept)} {stay} as before ({_reasons(kept)}) until empty{_with_jobs(kept)}, "
            f"because the budget of {budgets} allows no replacement: "
            f"{_some([each.name for each in kept])}"
        )
    if pending:
        wait = "is" if len(pending) == 1 else "are"
        said = "; ".join(sorted({each.blocked for each in pending if each.blocked}))
        yield (
            f"{_rented(pending)} {wait} still to be replaced ({_reasons(pending)})"
            f"{_with_jobs(pending)}: {NOT_DONE}{f' ({said})' if said else ''}: "
            f"{_some([each.name for each in pending])}"
        )


def _rented(drifted: Sequence[Drifted]) -> str:
    return _number(len(drifted), "rented machine")


def _reasons(drifted: Sequence[Drifted]) -> str:
    return ", ".join(sorted({each.reason for each in drifted}))


def _with_jobs(drifted: Sequence[Drifted]) -> str:
    jobs = {job for each in drifted for job in each.jobs}
    return f", with {_number(len(jobs), 'job')}" if jobs else ""


def _due(moves: Moves, environment: str) -> str:
    if not moves.due:
        return "Reinstallation: no machine waits for one."
    told = [
        f"`fleet reinstall {environment} {each.pool}` takes {len(each.machines)}, one at a time: "
        f"{_some(each.machines)}"
        for each in moves.due
    ]
    return f"Reinstallation, not part of the update: {'; '.join(told)}."


def _fields(moves: Moves) -> str:
    if not moves.replaced:
        return "Fields: each changed in place."
    by_fields: dict[str, list[str]] = {}
    for each in moves.replaced:
        by_fields.setdefault(", ".join(sorted(each.fields)), []).append(each.resource)
    told = [f"{fields} of {_some(resources)}" for fields, resources in by_fields.items()]
    return f"Fields that cannot change in place: {'; '.join(told)}."


def _capacity(moves: Moves) -> str:
    told = [
        f"{each.pool} had {each.least} GPUs of the {each.held} that its queues hold "
        f"for {each.seconds:.0f} s of the twin's own time"
        for each in moves.shortages
    ]
    below = "; ".join(told) or "never below what queues hold"
    return f"Capacity: {below}; {usd(moves)}."


def usd(moves: Moves) -> str:
    """Return the price of a change, and what it is without."""
    unknown = f" without {_some(moves.unpriced)} (no price known)" if moves.unpriced else ""
    return f"{moves.usd:,.2f} USD{unknown}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}"


def whole(moves: Moves, environment: str) -> Iterator[str]:
    """Yield the five lines, and every event behind them."""
    yield beginning(moves)
    yield from five_lines(moves, environment)
    yield from events(moves)
    yield from (f"not started: {sentence}" for sentence in moves.not_running)


def beginning(moves: Moves) -> str:
    """Return what the change came from."""
    return f"From {moves.ref}, commit {moves.commit[:SHORT]}, with {_jobs_running(moves)}."


def events(moves: Moves) -> Iterator[str]:
    """Yield what happened to machines and jobs in its order, and the machines that stay."""
    found = [(move.at_s, f"{move.name} {move.what}") for move in moves.machines]
    ended = [job for job in moves.ended if not job.to_come]
    found += [(job.at_s, f"{job.name} ended on {job.node}") for job in ended]
    yield from (f"{at_s:6.1f} s  {text}" for at_s, text in sorted(found))
    for each in moves.drifted:
        runs = f", runs {', '.join(each.jobs)}" if each.jobs else ""
        what = "stays as before" if each.by_budget else "still to be replaced"
        why = each.blocked or NOT_DONE
        yield f"{what}: {each.name} of {each.node_pool}, {each.reason}{runs}: {why}"
