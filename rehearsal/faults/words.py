"""What became of the faults, in words: a line of a terminal for each, and the tables of `--all`."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from engine.tables import table
from rehearsal.digest import Line, count
from rehearsal.faults.result import FaultRun, Faults
from rehearsal.moves.result import ASSUMED_HOURS

NOTHING = "\N{EN DASH}"
RUNS_AGAIN = "runs again"
TIMES = {"Tainted": "tainted", "Pods evicted": "pods evicted", "Starts again": "starts again"}
TIMES |= {"Runs again": RUNS_AGAIN}
NUMBERS = (*TIMES, "Wrong cordons", "Work again USD", "Waiting USD")
HEAD = ("Fault", *NUMBERS)


def lines(faults: Faults | None) -> Iterator[Line]:
    """Yield a line for each fault."""
    for run in faults.runs if faults else ():
        bad = bool([*run.problems()])
        yield Line(mark="bad" if bad else "good", about=f"fault {run.kind}", text=_line(run))


def _line(run: FaultRun) -> str:
    parts = [_when(run)]
    cordons = len(run.wrong_cordons)
    parts += [count(cordons, "wrong cordon") if cordons else "no wrong cordon"]
    parts += _usd_of(run)
    names = list(dict.fromkeys(each.name for each in run.alerts.fired))
    parts += [f"alerts: {', '.join(names)}" if names else "no alert"]
    return f"{run.hit.rstrip('.')}: {'; '.join(parts)}"


def _usd_of(run: FaultRun) -> list[str]:
    if run.usd_lost is None or run.usd_waiting is None:
        return ["USD not known"]
    usd = run.usd_lost + run.usd_waiting
    return [f"{usd:,.2f} USD"] if usd else []


def _when(run: FaultRun) -> str:
    """The two moments that most people ask for."""
    if not run.recovered:
        return f"not recovered within {run.limit_s:.0f} s"
    tainted = run.seconds.get("tainted")
    again = run.seconds.get(RUNS_AGAIN)
    told = [f"tainted after {tainted:.0f} s"] if tainted is not None else []
    told += [f"runs again after {again:.0f} s" if again is not None else "the gang goes on"]
    return ", ".join(told)


def whole(faults: Faults) -> Iterator[RenderableType]:
    """Yield the table of times and USD, and below it what each fault was and which alerts fired."""
    yield Text(gangs(faults))
    made = table(*HEAD, right=NUMBERS)
    for run in faults.runs:
        made.add_row(*cells(run), style="" if run.recovered else "red")
    yield made
    for run in faults.runs:
        yield from (Text(f"{run.kind}: {sentence}") for sentence in sentences(run))


def gangs(faults: Faults) -> str:
    """Return which gangs ran, and what the times of the table are."""
    return f"Gangs that ran: {', '.join(faults.gangs)}. Times are seconds after the fault."


def cells(run: FaultRun) -> tuple[str, ...]:
    """Return the cells of a fault in the table of HEAD."""
    times = (_seconds(run, name) for name in TIMES.values())
    usd = (_usd(value) for value in (run.usd_lost, run.usd_waiting))
    return (f"{run.kind}@{run.at_s:g}", *times, str(len(run.wrong_cordons)), *usd)


def _usd(value: float | None) -> str:
    if value is None:
        return "not known"
    return f"{value:,.2f}" if value else NOTHING


def _seconds(run: FaultRun, name: str) -> str:
    found = run.seconds.get(name)
    return NOTHING if found is None else f"{found:,.1f}"


def sentences(run: FaultRun) -> Iterator[str]:
    """Yield what was seen of a fault, when, and which alerts fired."""
    yield f"{run.hit.rstrip('.')}."
    yield f"{', '.join(f'{name} {at_s:,.1f} s' for name, at_s in run.seconds.items()) or NOTHING}"
    if run.shortened:
        told = [f"{what} ({seconds:,.0f} s)" for what, seconds in run.shortened.items()]
        yield f"left out in the twin and counted: {', '.join(told)}"
    if run.gpu_hours_lost:
        yield (
            f"{run.gpu_hours_lost:,.1f} GPU-hours are done again (the gang is taken to be "
            f"{ASSUMED_HOURS:g} h old)"
        )
    if run.usd_lost is None or run.usd_waiting is None:
        yield "the catalogue has no price of a machine of the gang: its USD are not known"
    yield from run.notes
    for each in run.alerts.fired:
        about = f" ({each.about})" if each.about else ""
        yield f"alert {each.name}{about}, {each.severity}, fires after {each.after_s:,.0f} s"
    others = ", ".join(run.alerts.not_judged)
    yield f"{run.alerts.judged} alerts judged; nothing in a twin exports what these read: {others}"
    yield from run.problems()
