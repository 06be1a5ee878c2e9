"""What the policy pack said, rule by rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from policies.rules import ALL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from policies.rules.rule import Rule
    from rehearsal.events import Violation

State = Literal["violated", "told", "not checked until up", "disabled", "held"]
ORDER: tuple[State, ...] = ("violated", "told", "not checked until up", "disabled", "held")
UNKNOWN = "is not checked until up"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One rule. `told` is a violation that stops nothing: advisory, or exempted for a while."""

    rule: str
    sentence: str
    state: State
    resources: tuple[str, ...]
    said: tuple[str, ...]  # a sentence for each violation


def verdicts(
    violations: Sequence[Violation],
    configured: Mapping[str, Mapping[str, object]],
    rules: Sequence[Rule] = ALL,
) -> tuple[Verdict, ...]:
    """Every rule, the broken ones first; a rule that is on and that nobody speaks of has held.

    `configured` are the rules' settings of the environment, by rule id.
    """
    found = [_verdict(rule, violations, configured.get(rule.id, {})) for rule in rules]
    return tuple(sorted(found, key=lambda verdict: ORDER.index(verdict.state)))


def _verdict(
    rule: Rule, violations: Sequence[Violation], configured: Mapping[str, object]
) -> Verdict:
    mine = [v for v in violations if _said(rule.id, v)]
    stopping = [v for v in mine if v.level != "advisory"]
    telling = [v for v in mine if v.level == "advisory" and UNKNOWN not in v.message]
    state: State = "held"
    if stopping:
        state, mine = "violated", stopping
    elif telling:
        state, mine = "told", telling
    elif mine:
        state = "not checked until up"
    elif configured.get("level", rule.level) == "disabled":
        state = "disabled"
    names = tuple(sorted({v.resource for v in mine}))
    return Verdict(
        rule=rule.id,
        sentence=rule.sentence,
        state=state,
        resources=names,
        said=tuple(sorted({line for v in mine for line in _said(rule.id, v)})),
    )


def unknown(violations: Sequence[Violation], rules: Sequence[Rule] = ALL) -> tuple[str, ...]:
    """What stops a preview in the name of no rule of ours, as "resource: message"."""
    return tuple(
        f"{v.resource}: {' '.join(v.message.split())}"
        for v in violations
        if v.level != "advisory" and not any(_said(rule.id, v) for rule in rules)
    )


def _said(rule: str, violation: Violation) -> list[str]:
    """The sentences of a rule; the engine puts the policy's description on a line before them."""
    start = f"{rule}: "
    lines = violation.message.splitlines()
    return [line.removeprefix(start) for line in lines if line.startswith(start)]
