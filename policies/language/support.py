"""The versions of a pool that have a last day of support, read from its boot data."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from policies.language.boot_data import drivers, is_pool, of_pool
from policies.language.manifest import describe
from policies.language.rule import Manifest, Settings
from settings import support

_KUBERNETES = re.compile(r"/kubernetes-v([0-9]+\.[0-9]+)\.[0-9]+[-.]")


@dataclass(frozen=True, kw_only=True)
class Pinned:
    """A version on the machines of a pool; `last_day` is None where nobody here knows it."""

    name: str
    last_day: date | None
    key: str
    """The key of the stack file that pins it."""


def pinned(manifest: Manifest) -> Iterator[Pinned]:
    """Yield what ends; raises ShippedError where the boot data cannot be read."""
    if not is_pool(manifest):
        return
    config = of_pool(manifest).config
    minors = {match[1] for path in config.files if (match := _KUBERNETES.search(path))}
    for minor in sorted(minors):
        yield _pinned("versions.kubernetes", f"Kubernetes {minor}", support.KUBERNETES.get(minor))
    for name in drivers(config):
        branch = name.partition("-")[0]
        of_branch = support.DRIVERS.get(branch)
        yield _pinned("versions.nvidia_driver", f"NVIDIA's driver {branch}", of_branch)


def _pinned(key: str, name: str, found: support.Support | None) -> Pinned:
    return Pinned(name=name, last_day=None if found is None else found.last_day, key=key)


def today(settings: Settings) -> date:
    """Return the day on which the rule is asked."""
    return date.fromisoformat(str(settings["today"]))


def must_run(manifest: Manifest, found: Pinned, fault: str) -> str:
    """Return the sentence of a fault of one version."""
    return f"{describe(manifest)} must run a supported version: {found.name} {fault}."
