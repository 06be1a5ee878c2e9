"""What the smoke set did, in the lines of a terminal and in a table."""

from collections.abc import Iterator
from typing import Literal

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from engine.console import behind
from engine.tables import table
from rehearsal.smoke.results import RentedMachine, Shortened, Smoke, SmokeRun

NOTHING = "\N{EN DASH}"
JOBS = ("Job", "Kind", "Queue", "Pool", "GPUs", "Nodes", "Runs after", "Over after")
RENTED = ("Rented", "Type", "Zone", "Capacity", "Boot", "USD/h", "USD at real times")
SHORTENED = ("Shortened", "Real", "Here", "Factor", "How")
NUMBERS = ("GPUs", "Runs after", "Over after", "Boot", "USD/h", "USD at real times", "Real", "Here")


def one_line(smoke: Smoke) -> tuple[Literal["good", "bad"], str]:
    """Return in one line whether each job did what it must, and what was rented."""
    good = sum(run.as_it_must for run in smoke.runs)
    if not smoke.runs:
        return "good", "none has a place in this environment"
    parts = [f"{good} of {len(smoke.runs)} did what they must"]
    parts += [f"no {kind}" for kind in smoke.left_out]
    told = ", ".join(parts)
    if smoke.machines:
        number, rounds = len(smoke.machines), _rounds(smoke)
        told += f"; {number} {'machine' if number == 1 else 'machines'} rented in {rounds}"
        gone = smoke.gone_after_s
        told += ", not gone" if gone is None else f", gone {gone:.0f} s after their gang ended"
    return ("bad" if smoke.problems else "good"), told


def job_by_job(smoke: Smoke) -> tuple[str, ...]:
    """Return what each job did, and why there is none of a kind, a line each."""
    told = [f"{run.kind}, {run.name}: {_told(run)}" for run in smoke.runs]
    return (*told, *(f"no {kind}: {why}" for kind, why in smoke.left_out.items()))


def in_short(smoke: Smoke) -> str:
    """Return how many jobs did what they must, for a page that has no room for more."""
    good = sum(run.as_it_must for run in smoke.runs)
    return f"{good} of {len(smoke.runs)} smoke jobs did what they must" if smoke.runs else ""


def shortened_line(smoke: Smoke) -> str:
    """Return what was not waited for as long as in an environment; empty where all was."""
    return ", ".join(f"{each.what} {each.factor}" for each in smoke.shortened)


def _told(run: SmokeRun) -> str:
    if run.said:
        return f"{run.outcome} {run.said}".rstrip(".")
    on = ", ".join(run.nodes)
    return f"ran after {run.starts_after_s or 0:.1f} s on {on}, over after {run.ends_after_s:.1f} s"


def _rounds(smoke: Smoke) -> str:
    return "1 round" if smoke.rounds == 1 else f"{smoke.rounds} rounds"


def whole(smoke: Smoke) -> Iterator[RenderableType]:
    """Yield all that is known of each job, of the machines rented and of the times shortened."""
    if smoke.runs:
        yield _jobs(smoke)
    for run in smoke.runs:
        if run.said:
            mark, style = ("✓", "green") if run.as_it_must else ("✗", "red")
            yield behind(mark, style, Text(f"{run.name} was {run.outcome} {run.said}"))
    for kind, why in smoke.left_out.items():
        yield behind(" ", "", Text(f"no {kind}: {why}"))
    if smoke.machines:
        yield Text()
        yield _machines(smoke)
    if smoke.shortened:
        yield Text()
        yield _shortened(smoke)


def _jobs(smoke: Smoke) -> Table:
    made = table(*JOBS, right=NUMBERS)
    for run in smoke.runs:
        made.add_row(*job_cells(run), style="" if run.as_it_must else "red")
    return made


def job_cells(run: SmokeRun) -> tuple[str, ...]:
    """Return the cells of a job in the table of JOBS."""
    times = (_seconds(run.starts_after_s), _seconds(run.ends_after_s))
    names = ", ".join(node.partition(".")[0] for node in run.nodes) or NOTHING
    job = run.name.partition("/")[2].removeprefix("smoke-")
    return (job, run.kind, run.queue or NOTHING, run.pool, str(run.gpus), names, *times)


def _machines(smoke: Smoke) -> RenderableType:
    made = table(*RENTED, right=NUMBERS)
    for each in smoke.machines:
        made.add_row(*machine_cells(each))
    return Group(made, Text(rented_note(smoke), style="dim"))


def machine_cells(machine: RentedMachine) -> tuple[str, ...]:
    """Return the cells of a machine in the table of RENTED."""
    usd = (machine.usd_per_hour, machine.real_usd)
    prices = ("unknown" if each is None else f"{each:,.2f}" for each in usd)
    named = (machine.id, machine.type, machine.zone, machine.capacity)
    return (*named, _seconds(machine.boot_s), *prices)


def rented_note(smoke: Smoke) -> str:
    """Return how the machines were chosen, and what times their prices are for."""
    gone = "" if smoke.gone_after_s is None else f"; gone {smoke.gone_after_s:.1f} s after its end"
    real = " + ".join(
        f"{each.real_s:.0f} s of {each.what}" for each in smoke.shortened if each.of_a_machine
    )
    return (
        f"Chosen by Karpenter in {_rounds(smoke)}{gone}. Real times: {real} + the work of the gang."
    )


def _shortened(smoke: Smoke) -> Table:
    made = table(*SHORTENED, right=NUMBERS)
    for each in smoke.shortened:
        made.add_row(*shortened_cells(each))
    return made


def shortened_cells(time: Shortened) -> tuple[str, ...]:
    """Return the cells of a time in the table of SHORTENED."""
    return (time.what, _seconds(time.real_s), _seconds(time.here_s), time.factor, time.how)


def _seconds(number: float | None) -> str:
    return NOTHING if number is None else f"{number:.1f} s"
