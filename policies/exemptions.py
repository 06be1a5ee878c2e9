"""The exemptions of an environment, all of them: who may break which rule until when."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Literal

from policies.configuration import Configured, Exemption
from policies.language.rule import Rule

Use = Literal["expired", "used", "unused"]


@dataclass(frozen=True, kw_only=True)
class Leave:
    """An exemption on a day; `unused` where the object keeps the rule, or is not there."""

    rule: str
    resource: str
    owner: str
    reason: str
    until: str
    use: Use


def named(sentence: str) -> str:
    """The object that a rule's sentence speaks of: it is quoted first."""
    return sentence.partition("'")[2].partition("'")[0]


def leaves(
    configured: Iterable[Configured], today: date, used: Collection[tuple[str, str]]
) -> tuple[Leave, ...]:
    """Every exemption: expired ones first, then by the day on which they end.

    `used` are those under which something was found, by rule id and the exemption's resource.
    """
    found = [
        Leave(
            rule=each.rule.id,
            resource=one.resource,
            owner=one.owner,
            reason=one.reason,
            until=one.until.isoformat(),
            use=_use(one, today, is_used=(each.rule.id, one.resource) in used),
        )
        for each in configured
        for one in each.exemptions
    ]
    return tuple(sorted(found, key=lambda one: (one.until, one.rule, one.resource)))


def _use(exemption: Exemption, today: date, *, is_used: bool) -> Use:
    if exemption.until < today:
        return "expired"
    return "used" if is_used else "unused"


def expired(configured: Iterable[Configured], today: date) -> Iterator[tuple[Rule, str]]:
    """Every exemption of a rule that is on whose last day is over, each with a sentence.

    It is an error also where nothing breaks the rule any more, so that none is left to be used
    again by an object of the same name.
    """
    for each in configured:
        for one in each.exemptions:
            if one.until < today and each.level != "disabled":
                yield (
                    each.rule,
                    (
                        f"the exemption of {one.resource} ended on {one.until} ({one.owner}: "
                        f"{one.reason}); it must be removed, or given a later day."
                    ),
                )
