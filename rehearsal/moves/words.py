"""What a change did, in the five lines of a pull request, and in the one of a terminal."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from rehearsal.moves.result import ASSUMED_HOURS, Moves, What

SHOWN = 8
SHORT = 12
"""Digits of a commit."""
ORDER: tuple[What, ...] = ("replaced", "reinstalled", "rebooted", "drained", "new", "gone")


def five_lines(moves: Moves, environment: str) -> tuple[str, ...]:
    """Return what reviewers want to know of a change, a line each."""
    return (
        _jobs(moves),
        _machines(moves),
        _due(moves, environment),
        _fields(moves),
        _capacity(moves),
    )


def one_line(moves: Moves, environment: str) -> tuple[Literal["good", "bad"], str]:
    """Return the same in one line, and whether it ended no job."""
    due = sum(len(each.machines) for each in moves.due)
    parts = [f"{len(moves.ended)} ended" if moves.ended else "none ended"]
    counted = Counter(move.what for move in moves.machines)
    parts += [f"{counted[what]} machines {what}" for what in ORDER if counted[what]]
    parts += [f"{due} wait for `fleet reinstall {environment}`"] if due else []
    parts += [f"{moves.usd:,.2f} USD"] if moves.usd else []
    parts += [f"{len(moves.not_running)} jobs not started"] if moves.not_running else []
    text = f"from {moves.commit[:SHORT]} with {_jobs_running(moves)}: {', '.join(parts)}"
    return ("bad" if moves.ended else "good"), text


def _jobs_running(moves: Moves) -> str:
    return f"{moves.jobs} running {'job' if moves.jobs == 1 else 'jobs'}"


def _jobs(moves: Moves) -> str:
    line = f"Jobs: {len(moves.ended)} of {moves.jobs} ended"
    if moves.ended:
        again = sum(job.again_on is not None for job in moves.ended)
        named = _some([f"{job.name} on {job.node} at {job.at_s:.0f} s" for job in moves.ended])
        assumed = "" if moves.snapshot else f" (each taken to be {ASSUMED_HOURS:g} h old)"
        line += (
            f", {again} started again: {named}; {moves.gpu_hours_lost:,.1f} GPU-hours lost{assumed}"
        )
    if moves.waited:
        line += f"; drains wait for the end of {_some([each.job for each in moves.waited])}"
    if moves.not_running:
        line += f"; {len(moves.not_running)} not started in the twin"
    return f"{line}."


def _machines(moves: Moves) -> str:
    if not moves.machines:
        return "Machines: none replaced, reinstalled, rebooted or drained."
    told = []
    for what in ORDER:
        names = [move.name for move in moves.machines if move.what == what]
        told += [f"{len(names)} {what}: {_some(names)}"] if names else []
    return f"Machines, in this order: {'; '.join(told)}."


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
    told = [f"{each.resource} ({', '.join(each.fields)})" for each in moves.replaced]
    return f"Fields that cannot change in place: {_some(told)}."


def _capacity(moves: Moves) -> str:
    told = [
        f"{each.pool} had {each.least} GPUs of the {each.held} that its queues hold "
        f"for {each.seconds:.0f} s"
        for each in moves.shortages
    ]
    below = "; ".join(told) or "never below what queues hold"
    return f"Capacity: {below}; {moves.usd:,.2f} USD."


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{', '.join(names[:SHOWN])}{more}"


def whole(moves: Moves, environment: str) -> Iterator[str]:
    """Yield the five lines, and every event behind them."""
    yield f"From {moves.ref}, commit {moves.commit[:SHORT]}, with {_jobs_running(moves)}."
    yield from five_lines(moves, environment)
    events = [(move.at_s, f"{move.name} {move.what}") for move in moves.machines]
    events += [(job.at_s, f"{job.name} ended on {job.node}") for job in moves.ended]
    yield from (f"{at_s:6.1f} s  {text}" for at_s, text in sorted(events))
    yield from (f"not started: {sentence}" for sentence in moves.not_running)
