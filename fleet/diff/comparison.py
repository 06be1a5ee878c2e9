"""Tells what another version of a stack file does: the words of `fleet preview`, no engine."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

from components.pools.boot import PoolError
from fleet.diff.registered import steps_between, uncertain
from fleet.diff.rules import RuleChange, rule_changes
from fleet.diff.versions import refusal
from fleet.preview.cost import usd_per_day
from fleet.preview.deployed import with_cost_before
from fleet.preview.pools import pools
from fleet.preview.steps import ANOTHER_CLUSTER, Step
from fleet.preview.summary import Judged, Summary, summary
from fleet.validate.judging import judge
from fleet.validate.program import Program, program
from policies.configuration import configure
from policies.environment import Environment
from policies.language.inventory import usd_per_day_by_pool
from policies.verdicts import Verdict, as_json, verdicts
from settings import BareMetalPoolSettings, Settings, SettingsError
from settings.owned_machines import OwnedMachines, refused
from stacks.allowance import hosts


@dataclass(frozen=True, kw_only=True)
class Difference:
    """What a version changes against another; `usd_per_day` of each pool, before and after.

    `unknown` counts the resources that look the same and have a value that only a cloud knows.
    """

    against: str
    is_new: bool  # the other version has no such environment
    summary: Summary
    usd_per_day: Mapping[str, tuple[float, float]]
    rules: tuple[RuleChange, ...]
    unknown: int

    @property
    def holds(self) -> bool:
        """Whether no rule that held is broken."""
        return not any(change.kind == "broken" for change in self.rules)

    def as_json(self) -> dict[str, Any]:
        """The same as plain data: what a preview says, and what only a comparison has."""
        said = as_json(self)
        told = said.pop("summary")
        for key in ("errors", "rehearsal"):  # of an engine, and of its cluster
            del told[key]
        return {**told, **said, "holds": self.holds}


def compare(
    before: Environment | None, after: Environment, against: str, today: date | None = None
) -> Difference:
    """Returns what a version changes against another, or against nothing.

    Raises VersionError where the program refuses the other, SettingsError where it refuses this.
    """
    day = today or datetime.now(UTC).date()
    made = registered(after)
    try:
        other = None if before is None else made if before == after else registered(before)
    except SettingsError as error:
        raise refusal(against, error.mistakes) from error
    found = steps_between(other, made)
    judged, changes = _judged(before, other, after, made, day)
    unknown = len(uncertain(found))
    told = summary(after, found, judged, day)
    sentences = () if before is None else _refused(before.settings, after.settings)
    return Difference(
        against=against,
        is_new=before is None,
        summary=replace(
            told,
            beyond=(*sentences, *told.beyond),
            unchanged=told.unchanged - unknown,
        ),
        usd_per_day=_usd_per_day(after.settings, found),
        rules=changes,
        unknown=unknown,
    )


def registered(environment: Environment) -> Program:
    """Return what the program registers; raises SettingsError where it refuses."""
    try:
        return program(environment)
    except PoolError as error:
        raise SettingsError(str(error).splitlines()) from error


def _judged(
    before: Environment | None,
    other: Program | None,
    after: Environment,
    made: Program,
    day: date,
) -> tuple[Judged, tuple[RuleChange, ...]]:
    """Return the verdicts on a version, and how they differ from those on the other.

    No rule stops the rest of the report here, as none stops a preview before its end.
    """
    old: tuple[Verdict, ...] = ()
    cost = None
    if before is not None and other is not None:
        old = verdicts(before.rules, judge(before, other, day))
        cost = sum(usd_per_day_by_pool(each.manifest for each in other.resources).values())
    rules = configure(with_cost_before(after.rule_settings, cost))
    found = tuple(judge(replace(after, rules=rules), made, day))
    new = verdicts(rules, found)
    moved = before is not None and before.settings.cluster.name != after.settings.cluster.name
    judged = Judged(
        passed=True,
        findings=found,
        verdicts=new,
        warnings=made.warnings,
        others=(ANOTHER_CLUSTER,) if moved else (),
    )
    return judged, rule_changes(old, new, _titles(after.settings))


def _refused(before: Settings, after: Settings) -> tuple[str, ...]:
    """Return what the program refuses to do to owned machines, once `before` is deployed."""
    machines = [
        machine
        for pool in before.pools.values()
        if isinstance(pool.declared, BareMetalPoolSettings)
        for machine in pool.declared.machines
    ]
    deployed = OwnedMachines(
        hosts=tuple(hosts(before)),
        joined=frozenset(machine.name for machine in machines),
        left=frozenset(machine.name for machine in machines if machine.leaving is not None),
    )
    return tuple(refused(deployed, tuple(hosts(after))))


def _titles(settings: Settings) -> dict[str, str]:
    return {pool.name: pool.title for pool in settings.pools.values()}


def _usd_per_day(settings: Settings, found: Mapping[str, Step]) -> dict[str, tuple[float, float]]:
    titles = _titles(settings)
    return {
        titles.get(change.name, change.name): (
            round(usd_per_day(change.before), 2),
            round(usd_per_day(change.after), 2),
        )
        for change in pools(found)
    }
