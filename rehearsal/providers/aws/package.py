"""The package `aws`: its types, its functions and its provider's arguments."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from rehearsal.providers.aws.facts import REGIONS
from rehearsal.providers.aws.kinds import KINDS
from rehearsal.providers.aws.lookups import LOOKUPS
from rehearsal.providers.checks import one_of
from rehearsal.providers.contract import Failure
from rehearsal.providers.simulated import Package
from rehearsal.providers.values import Unknown, shown

if TYPE_CHECKING:
    from rehearsal.providers.values import Properties


def check_config(config: Properties) -> list[Failure]:
    """The provider has a region; credentials are not needed in a rehearsal."""
    region = config.get("region")
    if isinstance(region, Unknown):
        return []
    if region is None:
        return [Failure(path="region", sentence="region is missing, but aws needs one.")]
    if wrong := one_of(*REGIONS)(region):
        return [Failure(path="region", sentence=f"region is {shown(region)}, but {wrong}.")]
    return []


def package() -> Package:
    """The stand-in's content."""
    return Package(
        name="aws",
        version=version("pulumi-aws"),
        kinds={kind.token: kind for kind in KINDS},
        lookups=LOOKUPS,
        check_config=check_config,
    )
