"""The exemptions of an environment as a preview found them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policies.exemptions import leaves, named

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from fleet.preview.verdicts import Verdict
    from policies.configuration import Configured
    from policies.exemptions import Leave


def exemptions(
    configured: Sequence[Configured], verdicts: Sequence[Verdict], today: date
) -> tuple[Leave, ...]:
    """Every exemption: expired ones first, then by the day on which they end."""
    exempt = {
        (verdict.rule, named(one.sentence))
        for verdict in verdicts
        for one in verdict.found
        if one.state == "exempt"
    }
    used = {
        (each.rule.id, one.resource)
        for each in configured
        for one in each.exemptions
        if (each.rule.id, one.name) in exempt
    }
    return leaves(configured, today, used)
