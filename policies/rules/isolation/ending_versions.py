"""A version that ends soon is told before it stops an update: see supported_versions."""

from datetime import timedelta

from policies.language.boot_data import ShippedError
from policies.language.rule import Manifest, Rule, Settings
from policies.language.support import must_run, pinned, today


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns the versions of a pool whose support ends within `days`."""
    try:
        found = list(pinned(manifest))
    except ShippedError:
        return []
    day = today(settings)
    last = day + timedelta(days=int(str(settings["days"])))
    return [
        must_run(manifest, each, f"ends on {each.last_day}")
        for each in found
        if each.last_day is not None and day <= each.last_day <= last
    ]


RULE = Rule(
    id="isolation/ending-versions",
    sentence="Kubernetes and NVIDIA's driver on machines must not end soon.",
    why=(
        "The next minor release is a new installation of each machine, and a new branch of the "
        "driver another Fabric Manager: that takes weeks to roll out."
    ),
    source="https://kubernetes.io/releases/",
    level="advisory",
    schema={
        "days": {
            "type": "integer",
            "minimum": 1,
            "maximum": 365,
            "default": 60,
            "description": "The days before the last one from which on a version is listed.",
        }
    },
    predicate=violations,
)
