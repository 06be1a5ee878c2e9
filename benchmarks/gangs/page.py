"""docs/gangs-and-autoscalers.md, written from the results alone."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.gangs.results import Measured, Row, scenario_of, starts, too_many
from benchmarks.gangs.scenarios import SCENARIOS, Scenario
from benchmarks.gangs.schedulers import ABSENT, FOUND, SCHEDULERS
from benchmarks.gangs.trial import IN_VAIN_S, PATIENCE_S

HEAD = f"""# Gangs and autoscalers

Written by `make gangs`; do not edit. It runs the same scenarios with each scheduler on a real
control plane, beside the real Karpenter with a stand-in of AWS and machines that boot in 5 s (for
5 minutes). Only kubelets and GPUs are played. A pod takes the eight GPUs of a machine, so a gang of
3 needs 3 machines. After a version bump run `make gangs`, or `make gangs ONLY=kueue` for one
scheduler; each takes about 5 minutes. The figures are also in gangs-and-autoscalers.json.

- **starts**: all pods of the gang ran at one time, within {PATIENCE_S:.0f} s. Where there is no
  room for it, no start within {IN_VAIN_S:.0f} s is right.
- **rounds**: how often Karpenter decided to make machines. **made**: machines that AWS launched.
  **too many**: those beyond what the scenario needs.
- **seconds**: from the request until all pods ran; they also depend on what else runs on the
  machine. **evictions**: pods that had a machine and lost it.
"""


def page(measured: Iterable[Measured]) -> str:
    """Return the page."""
    order = [*SCHEDULERS]
    found = sorted(measured, key=lambda each: order.index(each.name))
    ran = [each for each in found if each.rows]
    parts = [
        HEAD,
        "## In short\n\n" + "\n".join(_summary(ran)),
        "## What it means for a desk\n\n" + "\n".join(f"- {line}" for line in reading(ran)),
        "## Found on the way\n\n" + "\n".join(f"- {line}" for line in FOUND),
        "## What ran\n\n" + "\n".join(_versions(found)),
        *(f"## {_capital(each.title)}\n\n" + "\n".join(_scenario(each, ran)) for each in SCENARIOS),
    ]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _summary(ran: Sequence[Measured]) -> Iterator[str]:
    yield from _table(
        ("", *(f"{_name(each)} on {each.kubernetes}" for each in ran)),
        [
            (scenario.title, *(_cell(each.row(scenario.name), scenario) for each in ran))
            for scenario in SCENARIOS
        ],
    )


def _cell(row: Row | None, scenario: Scenario) -> str:
    if row is None:
        return "not run"
    spare = too_many(row)
    beside = [f"{spare} too many"] if spare else []
    if not starts(row):
        return ", ".join((f"**not in {PATIENCE_S:.0f} s**", *beside))
    if not scenario.can_start:
        return ", ".join(("waits", *(f"**{each}**" for each in beside)))
    if scenario.interrupted and row.again_s is None:
        return ", ".join((f"**not again in {PATIENCE_S:.0f} s**", *beside))
    taken = row.again_s if scenario.interrupted else row.seconds
    return ", ".join((f"{taken:.0f} s", *beside))


def reading(ran: Sequence[Measured]) -> Iterator[str]:
    """Say what the rows mean, from the rows alone."""
    for question in _QUESTIONS:
        asked = [each for each in ran if all(map(each.row, question.scenarios))]
        yes = [_name(each) for each in asked if question.holds(each)]
        no = [_name(each) for each in asked if not question.holds(each)]
        parts = [f"with {', '.join(yes)}"] if yes else []
        if no:
            parts.append(f"not with {', '.join(no)}" if yes else "with none of them")
        if parts:
            advice = f" {question.elsewhere}" if no else ""
            yield f"{question.text}: {'; '.join(parts)}.{advice}"


@dataclass(frozen=True, kw_only=True)
class _Question:
    """What a desk wants to know of a scheduler, and what to do where it is not so."""

    text: str
    scenarios: tuple[str, ...]
    starts: bool = False
    """Whether gangs that have room must start."""
    thrifty: bool = False
    """Whether no machine too many may be made."""
    elsewhere: str

    def holds(self, each: Measured) -> bool:
        """Whether it is so in all of its scenarios."""
        rows = [row for row in map(each.row, self.scenarios) if row]
        return all(
            (not self.starts or _runs(row)) and (not self.thrifty or not too_many(row))
            for row in rows
        )


def _runs(row: Row) -> bool:
    again = not scenario_of(row).interrupted or row.again_s is not None
    return starts(row) and again


_QUESTIONS = (
    _Question(
        text="A gang that finds no machine gets all of them and starts",
        scenarios=("nothing-idle",),
        starts=True,
        elsewhere="Elsewhere no gang bursts.",
    ),
    _Question(
        text="It also starts where a part of it fits machines that are there, rented or owned",
        scenarios=("rented-idle", "owned-idle"),
        starts=True,
        elsewhere="Elsewhere it waits until somebody ends what is idle.",
    ),
    _Question(
        text="An idle owned machine is used and only the rest is rented",
        scenarios=("owned-idle",),
        starts=True,
        thrifty=True,
        elsewhere="Elsewhere a gang keeps to one pool: an owned machine stays idle beside it.",
    ),
    _Question(
        text="Of two gangs that fit one at a time, one starts",
        scenarios=("two-gangs",),
        starts=True,
        elsewhere=f"Elsewhere neither is whole within {PATIENCE_S:.0f} s: both hold a part of the "
        "machines, which are paid for. Keep what all queues of a pool may have together within "
        "what it can rent.",
    ),
    _Question(
        text="A full queue rents nothing",
        scenarios=("full-queue",),
        thrifty=True,
        elsewhere="Elsewhere machines are paid for as long as the queue is full.",
    ),
    _Question(
        text="Nothing is rented for a gang that the limit of its pool keeps from starting",
        scenarios=("limit",),
        thrifty=True,
        elsewhere="Elsewhere Karpenter rents what the limit allows, and it stays while the gang "
        "waits: keep a queue's quota within its pool's limits.",
    ),
    _Question(
        text="Nothing is rented for a gang that a sold-out market keeps from starting",
        scenarios=("sold-out",),
        thrifty=True,
        elsewhere="Elsewhere Karpenter rents what can be had, and it stays while the gang waits: "
        "end a gang that waits for long. fleet-gang-buffer gives it back after "
        "`give_back_after_minutes`.",
    ),
    _Question(
        text="A gang that loses a machine runs whole again by itself",
        scenarios=("interruption",),
        starts=True,
        elsewhere="Elsewhere somebody has to start it again.",
    ),
)


def _versions(found: Sequence[Measured]) -> Iterator[str]:
    rows = [
        (
            each.title,
            each.kubernetes,
            each.karpenter,
            "; ".join(each.on),
            each.written if not each.missing else f"**{each.missing}**",
            f"{each.date}, {each.machine}" if each.date else "",
        )
        for each in found
    ]
    rows += [(name, "", "", "", f"**{reason}**", "") for name, reason in ABSENT.items()]
    heads = ("scheduler", "Kubernetes", "Karpenter", "on, and not as it comes", "a gang", "run")
    yield from _table(heads, rows)


def _scenario(scenario: Scenario, ran: Sequence[Measured]) -> Iterator[str]:
    rooms = {0: "No gang can start", 1: "One gang can start"}
    yield f"{rooms[scenario.can_start]}; machines that have to be made: {scenario.needed}.\n"
    heads = ("scheduler", "Kubernetes", "starts", "rounds", "made", "too many", "seconds")
    again = ("seconds to run again",) if scenario.interrupted else ()
    rows = []
    for each in ran:
        row = each.row(scenario.name)
        if row is None:
            continue
        started = f"{row.started} of {len(scenario.gangs)}"
        one = "yes" if row.started else "no"
        seconds = "" if row.seconds is None else f"{row.seconds:.1f}"
        cells = [_name(each), each.kubernetes, started if len(scenario.gangs) > 1 else one]
        cells += [str(row.rounds), str(row.made), str(too_many(row)), seconds]
        if scenario.interrupted:
            cells.append("no" if row.again_s is None else f"{row.again_s:.1f}")
        rows.append((*cells, str(row.evictions)))
    if rows:
        yield from _table((*heads, *again, "evictions"), rows)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(heads) + " |"
    yield "|---" * len(heads) + "|"
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def _name(each: Measured) -> str:
    return each.title


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
