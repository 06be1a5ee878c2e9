"""The NVIDIA drivers that each known release of Flatcar has as system extensions.

releases.yaml is written by `python -m hardware.flatcar.read_tag RELEASE`. Fabric Manager must be of
exactly the driver's version, so that a release that is not in the table is one that no machine with
NVSwitches can be installed with.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

TABLE = Path(__file__).with_name("releases.yaml")


@dataclass(frozen=True, kw_only=True)
class Release:
    """A release such as 4593.2.5: its tag of flatcar/scripts, and its driver of each branch."""

    tag: str
    nvidia_drivers: Mapping[str, str]


@cache
def releases() -> Mapping[str, Release]:
    """Every known release by its name, the oldest first."""
    table = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return {name: Release(**entry) for name, entry in table.items()}


def driver_version(release: str | None, driver: str) -> str | None:
    """The version of a driver such as 570-open in a release; None where either is not known."""
    known = releases().get(release or "")
    return known.nvidia_drivers.get(driver.partition("-")[0]) if known else None


def versions_of_branch(branch: str) -> frozenset[str]:
    """The versions of a branch such as 570 in all known releases."""
    found = (each.nvidia_drivers.get(branch) for each in releases().values())
    return frozenset(version for version in found if version)


def known_releases() -> str:
    """The known releases, as a sentence's end that says how another becomes known."""
    return (
        f"{', '.join(releases())}, whose drivers are known; `python -m hardware.flatcar.read_tag "
        "RELEASE` reads another"
    )
