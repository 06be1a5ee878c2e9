"""The package `hcloud`: its types, its functions and its provider's arguments."""

from __future__ import annotations

import re
from importlib.metadata import version
from typing import TYPE_CHECKING

from rehearsal.providers.contract import Failure
from rehearsal.providers.hcloud.kinds import KINDS
from rehearsal.providers.hcloud.lookups import LOOKUPS
from rehearsal.providers.simulated import Package
from rehearsal.providers.values import Unknown

if TYPE_CHECKING:
    from rehearsal.providers.values import Properties


def check_config(config: Properties) -> list[Failure]:
    """A token of Hetzner Cloud has 64 letters and digits."""
    token = config.get("token")
    if isinstance(token, Unknown):
        return []
    if not isinstance(token, str):
        return [
            Failure(path="token", sentence="token is missing, but the hcloud provider needs one.")
        ]
    if not re.fullmatch(r"[A-Za-z0-9]{64}", token):
        return [
            Failure(
                path="token",
                sentence=f"token is a secret value of {len(token)} characters, but a token of "
                "Hetzner Cloud has 64 letters and digits.",
            )
        ]
    return []


def package() -> Package:
    """The stand-in's content."""
    return Package(
        name="hcloud",
        version=version("pulumi-hcloud"),
        kinds={kind.token: kind for kind in KINDS},
        lookups=LOOKUPS,
        check_config=check_config,
    )
