"""Summarises a preview for a reviewer, as plain data from the engine's event log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from engine.events import Outcome
from fleet.preview.cost import Cost, cost
from fleet.preview.pool_sentences import everything_else, sentences
from fleet.preview.pools import pools
from fleet.preview.refusals import refusals, unexplained
from fleet.preview.rehearsal import Rehearsed
from fleet.preview.sizes import Size, size
from fleet.preview.steps import Step, cluster_access, steps
from fleet.preview.taken import taken_by
from policies.environment import Environment
from policies.exemptions import ExemptionStatus, exemption_statuses
from policies.verdicts import WORST_FIRST, Finding, PackFindings, Verdict, as_json, verdicts
from settings import taken

UNHEARD = "The policy pack has written no findings, so the rules were not checked."


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The changes that `up` would make. `holds` is False if a rule or error stopped the preview."""

    environment: str
    holds: bool
    pools: Mapping[str, tuple[str, ...]]  # what happens to each pool that changes, in sentences
    sizes: Mapping[str, Size]  # of the same pools
    others: tuple[str, ...]  # counts by kind of all other changes
    unchanged: int  # resources
    verdicts: tuple[Verdict, ...]  # of every rule, the violated ones first
    exemptions: tuple[ExemptionStatus, ...]
    cost: Cost
    budget_usd_per_day: float
    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    takes: tuple[str, ...] = ()  # what happens to machines, as many as `allow:` says at most
    beyond: tuple[str, ...] = ()  # what would happen to more than that, which `up` refuses
    rehearsal: Rehearsed | None = None  # None where none was given

    @property
    def changes(self) -> bool:
        """True if `up` would change anything."""
        return bool(self.pools or self.others)

    def as_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return as_json(self)


@dataclass(frozen=True, kw_only=True)
class EngineRun:
    """The results of one `pulumi preview`: event log, the packs' findings, success, output.

    Only the output exists if the engine did not start.
    """

    events: Sequence[Mapping[str, Any]]
    heard: PackFindings
    succeeded: bool
    output: str = ""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What was found of a change, beside the change; it `passed` if nothing stopped it."""

    passed: bool
    findings: Sequence[Finding]
    verdicts: tuple[Verdict, ...]
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    others: tuple[str, ...] = ()  # changes that are no resource's


def summarise(environment: Environment, run: EngineRun, today: date | None = None) -> Summary:
    """Summarises a preview; exemptions end relative to `today`, by default the date in UTC."""
    heard, succeeded = run.heard, run.succeeded
    outcome = Outcome()
    for event in run.events:
        outcome.take(dict(event))
    judged = verdicts(environment.rules, heard.findings) if heard.packs else ()
    stopped = any(verdict.state == "violated" for verdict in judged)
    errors = unexplained(outcome.violations, heard)
    if succeeded and not heard.packs:
        errors += (UNHEARD,)
    if not (succeeded or stopped or errors):
        errors = refusals(environment.settings.environment, outcome, run.output)
    found = Judged(
        passed=succeeded and not stopped and not errors,
        findings=heard.findings,
        verdicts=judged,
        errors=errors,
        warnings=outcome.warnings(),
        others=tuple(filter(None, [cluster_access(run.events)])),
    )
    return summary(environment, steps(run.events), found, today)


def summary(
    environment: Environment, found: Mapping[str, Step], judged: Judged, today: date | None = None
) -> Summary:
    """Summarises steps and what was found of them."""
    settings = environment.settings
    changes = pools(found)
    titles = {pool.name: pool.title for pool in settings.pools.values()}
    told = {
        titles.get(change.name, change.name): lines
        for change in changes
        if (lines := sentences(change))
    }
    counted = taken_by(found.values())
    beyond = tuple(taken.beyond(counted, settings.allow))
    day = today or datetime.now(UTC).date()
    return Summary(
        environment=settings.environment,
        holds=judged.passed and not beyond,
        pools=told,
        sizes={titles.get(change.name, change.name): size(change) for change in changes},
        others=(*judged.others, *everything_else(changes, found)),
        unchanged=sum(step.op == "same" and not step.is_component for step in found.values()),
        verdicts=tuple(sorted(judged.verdicts, key=lambda one: WORST_FIRST.index(one.state))),
        exemptions=exemption_statuses(environment.rules, judged.findings, day),
        cost=cost(changes, found.values()),
        budget_usd_per_day=settings.budget.usd_per_day,
        errors=judged.errors,
        warnings=judged.warnings,
        takes=tuple(taken.within(counted, settings.allow)),
        beyond=beyond,
    )
