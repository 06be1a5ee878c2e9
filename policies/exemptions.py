"""The exemptions of an environment, all of them: who may break which rule until when."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from policies.configuration import ConfiguredRule, Exemption
from policies.verdicts import Finding

Use = Literal["expired", "used", "unused"]


@dataclass(frozen=True, kw_only=True)
class ExemptionStatus:
    """An exemption on a day; `unused` where the object keeps the rule, or is not there."""

    rule: str
    resource: str
    owner: str
    reason: str
    until: str
    use: Use


def exemption_statuses(
    configured: Iterable[ConfiguredRule], findings: Iterable[Finding], today: date
) -> tuple[ExemptionStatus, ...]:
    """Every exemption: expired ones first, then by the day on which they end."""
    used = {(found.rule, found.exemption) for found in findings if found.exemption}
    statuses = (
        ExemptionStatus(
            rule=each.rule.id,
            resource=one.whom,
            owner=one.owner,
            reason=one.reason,
            until=one.until.isoformat(),
            use=_use(one, today, is_used=(each.rule.id, one) in used),
        )
        for each in configured
        for one in each.exemptions
    )
    return tuple(sorted(statuses, key=lambda one: (one.until, one.rule, one.resource)))


def _use(exemption: Exemption, today: date, *, is_used: bool) -> Use:
    if exemption.until < today:
        return "expired"
    return "used" if is_used else "unused"


LONGEST = timedelta(days=366)
"""An exemption ends within a year, so that somebody looks again."""


def expired(configured: Iterable[ConfiguredRule], today: date) -> Iterator[Finding]:
    """A finding for every exemption of a rule that is on whose last day is over, or years ahead.

    It is an error also where nothing breaks the rule any more, so that none is left to be used
    again by an object of the same name.
    """
    for each in configured:
        for one in each.exemptions:
            sentence = _of_its_end(one, today)
            if sentence and each.level != "disabled":
                yield Finding(
                    rule=each.rule.id,
                    level=each.level,
                    state="violated",
                    resource=None,
                    sentences=(sentence,),
                    exemption=one,
                    keys=(f"policies.{each.rule.id}.exemptions",),
                )


def _of_its_end(one: Exemption, today: date) -> str:
    why = f"{one.until} ({one.owner}: {one.reason})"
    if one.until < today:
        return (
            f"the exemption of {one.whom} ended on {why}; it must be removed, or given a later day."
        )
    if one.until > today + LONGEST:
        last = today + LONGEST
        return f"the exemption of {one.whom} lasts until {why}; it must end by {last}, in a year."
    return ""


def exemption_note(finding: Finding) -> str:
    """Says until when the resource of a finding is exempt, or was; nothing without an exemption."""
    one = finding.exemption
    if one is None:
        return ""
    state = "is" if finding.state == "exempt" else "was"
    return f"It {state} exempt until {one.until} ({one.owner}: {one.reason})."
