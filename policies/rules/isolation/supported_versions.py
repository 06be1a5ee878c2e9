"""What runs on machines must still get security fixes.

Kubernetes mends three minor releases, each for fourteen months; NVIDIA a production branch of its
driver for a year and a long-term branch for three. `settings/support.py` has the days.
"""

from policies.language.boot_data import ShippedError
from policies.language.rule import Manifest, Rule, Settings
from policies.language.support import Pinned, must_run, pinned, today

_UNKNOWN = "has no last day of support in settings/support.py"


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns the versions of a pool whose support has ended."""
    return [
        must_run(manifest, each, _UNKNOWN if each.last_day is None else f"ended on {each.last_day}")
        for each in _ended(manifest, settings)
    ]


def keys(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns the keys that pin what has ended."""
    return [each.key for each in _ended(manifest, settings)]


def _ended(manifest: Manifest, settings: Settings) -> list[Pinned]:
    try:
        found = list(pinned(manifest))
    except ShippedError:  # which numa/shipped-plan says
        return []
    day = today(settings)
    return [each for each in found if each.last_day is None or each.last_day < day]


RULE = Rule(
    id="isolation/supported-versions",
    sentence="Kubernetes and NVIDIA's driver on machines must still be supported.",
    why=(
        "A version that has ended gets no fix of a hole through which a container reaches its "
        "machine, or a pod another team's GPU."
    ),
    source="https://kubernetes.io/releases/version-skew-policy/",
    predicate=violations,
    keys=keys,
    watched_by=("VersionEnds",),
)
