"""What the rules on the ends of support answer for a pool on one day."""

from policies.language.rule import Rule
from tests.support.policies.shipped_pools import Pool, edited, file, pool

SYSEXTS = "/etc/flatcar/enabled-sysext.conf"
MUST = "gpu:pools:BareMetalPool 'p' must run a supported version: "


def answers(rule: Rule, found: Pool, today: str, **settings: object) -> list[str]:
    """Return the rule's sentences, each without the beginning that all have in common."""
    assert rule.predicate is not None
    said = rule.predicate(found, {**rule.defaults(), **settings, "today": today})
    return [each.removeprefix(MUST) for each in said]


def with_driver(name: str) -> Pool:
    """Return a pool with Flatcar's driver extension of that name."""
    return edited(pool(), file(SYSEXTS, f"nvidia-drivers-{name}\n"))
