"""Which kernel arguments and sysctls act on the kernel of a release of Flatcar, and who can tell.

Two tables: kernel_needs.yaml says which option of Linux's configuration each needs, and
kernel_config.yaml what the release's configuration says of these options, read from its tag by
`python -m hardware.flatcar.read_kernel RELEASE`. Flatcar gives only the options that it wants; of
the others Kconfig's defaults hold (`make olddefconfig` in coreos-kernel.eclass).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

NEEDS = Path(__file__).with_name("kernel_needs.yaml")
CONFIG = Path(__file__).with_name("kernel_config.yaml")
ALWAYS = "always"
Arch = Literal["amd64", "arm64"]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A kernel argument or sysctl: what it needs, and who can tell that it acts.

    One of the options in `needs` must be on. `arch` is the one architecture that knows it, None for
    both. `hardware` says what only a real machine has, None where a virtual one shows that it acts.
    """

    needs: tuple[str, ...]
    arch: Arch | None = None
    hardware: str | None = None


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = yaml.safe_load(NEEDS.read_text(encoding="utf-8"))
    return found


@cache
def _settings(kind: str) -> Mapping[str, Setting]:
    return {
        name: Setting(**{**given, "needs": tuple(given["needs"])})
        for name, given in _table()[kind].items()
    }


def arguments() -> Mapping[str, Setting]:
    """Each kernel argument that a machine can be given, and those that are known to do nothing."""
    return _settings("arguments")


def sysctls() -> Mapping[str, Setting]:
    """Each sysctl that a plan can write."""
    return _settings("sysctls")


def options() -> tuple[str, ...]:
    """The options of Linux's configuration that the settings need, in order."""
    needed = {need for each in (*arguments().values(), *sysctls().values()) for need in each.needs}
    return tuple(sorted(needed - {ALWAYS}))


@cache
def configurations() -> Mapping[str, Mapping[str, Any]]:
    """What each known release says of the options, by its name, the oldest first."""
    found: Mapping[str, Mapping[str, Any]] = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    return found


def newest() -> str:
    """The newest release whose configuration is known."""
    return list(configurations())[-1]


def on(option: str, arch: Arch, release: str) -> bool:
    """Return whether a release's kernel has an option; KeyError for an unknown release."""
    if option == ALWAYS:
        return True
    given = configurations()[release]["options"].get(option, {}).get(arch)
    if given is not None:
        return bool(given != "n")
    return bool(_table()["defaults"].get(option, {"built": False})["built"])


def missing(setting: Setting, arch: Arch, release: str) -> str | None:
    """Why a setting does nothing on a release's kernel, in words; None where it acts."""
    if setting.arch not in (None, arch):
        return f"the kernel of {arch} has no such argument"
    if any(on(option, arch, release) for option in setting.needs):
        return None
    return f"the Flatcar kernel is built without {' and '.join(setting.needs)}"


def by_default_alone(setting: Setting, arch: Arch, release: str) -> bool:
    """Return whether Kconfig's default is all we have, as the release names none of the options."""
    given = configurations()[release]["options"]
    return not any(need == ALWAYS or arch in given.get(need, {}) for need in setting.needs)


def unjudged(arch: Arch, release: str) -> Mapping[str, str]:
    """The arguments that neither the release's files nor a virtual machine can judge, with why."""
    return {
        name: f"its files do not name {' or '.join(each.needs)}, and it needs {each.hardware}"
        for name, each in arguments().items()
        if each.hardware
        and each.arch in (None, arch)
        and missing(each, arch, release) is None
        and by_default_alone(each, arch, release)
    }
