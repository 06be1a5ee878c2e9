"""The exemptions of an environment, all of them: who may break which rule until when."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from policies.configuration import configure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from fleet.preview.verdicts import Verdict

Use = Literal["expired", "used", "unused"]


@dataclass(frozen=True, kw_only=True)
class Leave:
    """An exemption as a preview found it; `unused` where the object keeps the rule, or is gone."""

    rule: str
    resource: str
    owner: str
    reason: str
    until: str
    use: Use


def exemptions(
    policies: Mapping[str, Mapping[str, object]], verdicts: Sequence[Verdict], today: date
) -> tuple[Leave, ...]:
    """Every exemption: expired ones first, then by the day on which they end."""
    plain = json.loads(json.dumps(policies, default=str))  # days that YAML has read
    exempt = {
        (verdict.rule, named(one.sentence))
        for verdict in verdicts
        for one in verdict.found
        if one.state == "exempt"
    }
    found = [
        Leave(
            rule=each.rule.id,
            resource=one.resource,
            owner=one.owner,
            reason=one.reason,
            until=one.until.isoformat(),
            use=_use(
                expired=one.until < today,
                used=(each.rule.id, one.resource.partition("/")[2]) in exempt,
            ),
        )
        for each in configure(plain)
        for one in each.exemptions
    ]
    return tuple(sorted(found, key=lambda one: (one.until, one.rule, one.resource)))


def named(sentence: str) -> str:
    """The object that a rule's sentence speaks of: it is quoted first."""
    return sentence.partition("'")[2].partition("'")[0]


def _use(*, expired: bool, used: bool) -> Use:
    if expired:
        return "expired"
    return "used" if used else "unused"
