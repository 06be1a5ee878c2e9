"""What the policy pack said, rule by rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from policies.rules import ALL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine.events import Violation
    from policies.language.rule import Rule

State = Literal["violated", "told", "exempt", "not checked until up", "disabled", "held"]
ORDER: tuple[State, ...] = (
    "violated",
    "told",
    "exempt",
    "not checked until up",
    "disabled",
    "held",
)
UNKNOWN = "is not checked until up"  # the policy pack's words, as is the next
EXEMPT = "It is exempt until"


@dataclass(frozen=True, kw_only=True)
class Said:
    """One sentence of a rule about one resource, and what it means for the update."""

    resource: str
    sentence: str
    state: State


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One rule. `told` is a violation that stops nothing because the rule is advisory."""

    rule: str
    sentence: str
    state: State  # the worst of what it said
    found: tuple[Said, ...]

    @property
    def resources(self) -> tuple[str, ...]:
        """The resources that are in the state of the rule."""
        return tuple(sorted({one.resource for one in self._mine}))

    @property
    def said(self) -> tuple[str, ...]:
        """What is said of those, each sentence once."""
        return tuple(sorted({one.sentence for one in self._mine}))

    @property
    def waiting(self) -> tuple[str, ...]:
        """What it cannot judge before the update, whatever it has found besides."""
        waits = (one.sentence for one in self.found if one.state == "not checked until up")
        return tuple(sorted(set(waits)))

    @property
    def _mine(self) -> list[Said]:
        return [one for one in self.found if one.state == self.state]


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
    found = {
        Said(resource=violation.resource, sentence=sentence, state=_state(violation))
        for violation in violations
        for sentence in _said(rule.id, violation)
    }
    disabled = configured.get("level", rule.level) == "disabled"
    quiet: State = "disabled" if disabled else "held"
    return Verdict(
        rule=rule.id,
        sentence=rule.sentence,
        state=min((one.state for one in found), key=ORDER.index, default=quiet),
        found=tuple(sorted(found, key=lambda one: (ORDER.index(one.state), one.sentence))),
    )


def _state(violation: Violation) -> State:
    if violation.level != "advisory":
        return "violated"
    if UNKNOWN in violation.message:
        return "not checked until up"
    exempt = any(line.startswith(EXEMPT) for line in violation.message.splitlines())
    return "exempt" if exempt else "told"


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
