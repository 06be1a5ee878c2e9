"""The last days of support of what an environment runs, as series, and the alert on them."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta

from policies.gates.prometheus_rule import Recording
from policies.language.rule import Alert

NOTICE_DAYS = 60
"""As in the rule isolation/ending-versions, which speaks at a preview."""
_END = "fleet:support_end:timestamp"


def support_ends(ends: Mapping[str, date]) -> tuple[Recording, ...]:
    """Returns a series for each version: the second at which its last day is over, in UTC."""
    return tuple(
        Recording(
            name=_END,
            expression=f"vector({_second(last_day)})",
            labels={"version": version},
            why="When the last day of support of this version is over.",
        )
        for version, last_day in ends.items()
    )


def _second(last_day: date) -> int:
    over = last_day + timedelta(days=1)
    return int(datetime(over.year, over.month, over.day, tzinfo=UTC).timestamp())


VERSION_ENDS = Alert(
    name="VersionEnds",
    expression=f"{_END} - time() < {NOTICE_DAYS * 86400}",
    lasts_minutes=0,
    severity="warning",
    summary=(
        "{{ $labels.version }} {{ if lt $value 0.0 }}gets no fixes any more{{ else }}gets its last "
        "fix within {{ $value | humanizeDuration }}{{ end }}"
    ),
    why="A version that has ended gets no fix of a hole that others already use.",
    runbook=(
        "Set a supported version (gpu-fleet:versions, or settings/versions.py), rehearse it, and "
        "roll it out: `fleet preview` says which machines it reinstalls or replaces."
    ),
)
