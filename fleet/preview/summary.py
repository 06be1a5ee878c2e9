"""One preview as plain data: from the engine's event log to what a reviewer wants to know."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from engine.events import Outcome
from fleet.preview.cost import Cost, cost
from fleet.preview.exemptions import exemptions
from fleet.preview.pool_sentences import everything_else, sentences
from fleet.preview.pools import pools
from fleet.preview.refusals import refusals
from fleet.preview.sizes import Size, size
from fleet.preview.steps import steps
from fleet.preview.verdicts import Verdict, unknown, verdicts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from fleet.preview.rehearsal import Rehearsed
    from policies.environment import Environment
    from policies.exemptions import Leave


@dataclass(frozen=True, kw_only=True)
class Summary:
    """What `up` would do. `holds` is False where a rule or an error stopped the preview."""

    environment: str
    holds: bool
    pools: Mapping[str, tuple[str, ...]]  # what happens to each pool that changes, in sentences
    sizes: Mapping[str, Size]  # of the same pools
    others: tuple[str, ...]  # counts by kind of all other changes
    unchanged: int  # resources
    verdicts: tuple[Verdict, ...]
    exemptions: tuple[Leave, ...]
    cost: Cost
    budget_usd_per_day: float
    errors: tuple[str, ...]
    warnings: tuple[str, ...]
    rehearsal: Rehearsed | None = None  # None where none was given

    @property
    def changes(self) -> bool:
        """Whether `up` would do anything."""
        return bool(self.pools or self.others)

    def as_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)


def summarise(
    environment: Environment,
    events: Sequence[Mapping[str, Any]],
    *,
    succeeded: bool,
    output: str = "",
    today: date | None = None,
) -> Summary:
    """The summary of an event log; `succeeded` is what the engine's exit code says.

    `output` is what the engine printed: all that there is where it did not begin. `today` is the
    day by which exemptions end, this one in UTC unless given.
    """
    settings = environment.settings
    outcome = Outcome()
    for event in events:
        outcome.take(dict(event))
    found = steps(events)
    changes = pools(found)
    told = {change.name: lines for change in changes if (lines := sentences(change))}
    judged = verdicts(outcome.violations, environment.rule_settings)
    stopped = any(verdict.state == "violated" for verdict in judged)
    errors = unknown(outcome.violations)
    if not (succeeded or stopped or errors):
        errors = refusals(settings.environment, outcome, output)
    return Summary(
        environment=settings.environment,
        holds=succeeded and not stopped and not errors,
        pools=told,
        sizes={change.name: size(change) for change in changes if change.name in told},
        others=everything_else(changes, found),
        unchanged=sum(step.op == "same" and not step.is_component for step in found.values()),
        verdicts=judged,
        exemptions=exemptions(environment.rules, judged, today or datetime.now(UTC).date()),
        cost=cost(changes, found.values()),
        budget_usd_per_day=settings.budget.usd_per_day,
        errors=errors,
        warnings=outcome.warnings(),
    )
