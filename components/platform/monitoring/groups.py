"""All rules of the fleet, in the order in which they build on each other."""

from collections.abc import Mapping

from components.platform.monitoring.alerts import ALERTS
from components.platform.monitoring.cost import COST, PoolGpus, catalogue
from components.platform.monitoring.health import HEALTH
from components.platform.monitoring.rules import Group
from components.platform.monitoring.usage import ASKED, HELD, MEASURED


def groups(pools: Mapping[str, PoolGpus]) -> tuple[Group, ...]:
    """The groups for the GPU pools by name; a pool without GPUs is not among them."""
    return (
        Group(name="fleet-gpu", rules=(*catalogue(pools), *MEASURED, *ASKED, *HELD, *COST)),
        Group(name="fleet-health", rules=HEALTH),
        Group(name="fleet-alerts", rules=ALERTS),
    )
