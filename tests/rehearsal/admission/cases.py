"""The table: objects that keep a rule or break it, each for one rule that it is about.

An object may break other rules, too; the gates must agree on those as well. `malformed` is one that
both gates refuse in whatever words, because the API server may not come as far as a rule.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from zlib import crc32

from policies.language.facts import KEY
from tests.rehearsal.admission import (
    cases_beyond,
    cases_capacity,
    cases_cilium,
    cases_declared,
    cases_doors,
    cases_ends,
    cases_gangs,
    cases_idle,
    cases_isolation,
    cases_large,
    cases_numa,
    cases_pools,
    cases_queues,
    cases_rights,
    cases_schedulers,
    cases_secrets,
    cases_spelling,
    cases_structure,
    cases_trust,
    cases_waiting,
    cases_work,
)
from tests.rehearsal.admission.facts import FACTS
from tests.support.admission.objects import KINDS, Object


@dataclass(frozen=True, kw_only=True)
class Case:
    """One object. `good`: whether it keeps the rule; `malformed` ones are refused in any words."""

    rule: str
    name: str
    manifest: Object
    good: bool = False
    malformed: bool = False

    @property
    def bad(self) -> bool:
        """Whether it is well-formed and breaks the rule."""
        return not self.good and not self.malformed

    @property
    def id(self) -> str:
        """What pytest calls it."""
        verdict = "malformed" if self.malformed else "good" if self.good else "bad"
        return f"{self.rule}: {verdict}: {self.name}"


_TABLES = (
    cases_beyond,
    cases_capacity,
    cases_numa,
    cases_pools,
    cases_declared,
    cases_doors,
    cases_ends,
    cases_gangs,
    cases_queues,
    cases_rights,
    cases_schedulers,
    cases_idle,
    cases_isolation,
    cases_large,
    cases_secrets,
    cases_spelling,
    cases_cilium,
    cases_structure,
    cases_trust,
    cases_waiting,
    cases_work,
)
SETTINGS: Mapping[str, Mapping[str, object]] = {
    KEY: {**FACTS},
    **cases_work.SETTINGS,
    **cases_queues.SETTINGS,
}
"""Settings of the rules in the table, by rule id, and the facts."""


EVERY = 4
_ALL_KINDS = "numa/guaranteed-qos"


def _cases() -> Iterator[Case]:
    """The rows of all tables; of rows that differ in the kind of object alone, some of each rule.

    All rules find pods in the same way, in Python and in CEL, and one is asked about every kind.
    """
    seen: Counter[tuple[str, bool]] = Counter()
    for case in _rows():
        if case.rule != _ALL_KINDS and any(f" {kind} " in f" {case.name} " for kind in KINDS):
            number = seen[case.rule, case.good]
            seen[case.rule, case.good] += 1
            if number and number % EVERY != crc32(case.rule.encode()) % EVERY:
                continue
        yield case


def _rows() -> Iterator[Case]:
    for module in _TABLES:
        for rule, name, manifest in module.good():
            yield Case(rule=rule, name=name, manifest=manifest, good=True)
        for rule, name, manifest in module.bad():
            yield Case(rule=rule, name=name, manifest=manifest)
        for rule, name, manifest in module.malformed():
            yield Case(rule=rule, name=name, manifest=manifest, malformed=True)


CASES: tuple[Case, ...] = tuple(_cases())


def of(rule: str) -> tuple[Case, ...]:
    """The cases that are about a rule."""
    return tuple(case for case in CASES if case.rule == rule)
