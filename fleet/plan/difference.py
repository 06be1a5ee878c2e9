"""What changes on a node with another plan, and what a running node needs for it.

Ignition runs at first boot only, so a pool gets a new plan when its machines are replaced or
reinstalled. Each change names what a running machine would need instead, such as a reboot.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fleet.plan.description import GROUPS, Group, describe
from fleet.plan.subject import SubjectError, subject

# https://www.flatcar.org/docs/latest/setup/customization/other-settings/ (kernel arguments) and
# https://kubernetes.io/docs/tasks/administer-cluster/cpu-management-policies/ (kubelet's state)
NEEDS: Mapping[Group, str] = {
    "kernel argument": "reboot",
    "sysctl": "sysctl --system",
    "kubelet": "drain, restart the kubelet without its state files",
    "system": "restart of the unit",
}
# read when the module is loaded, and when the first process starts
AT_BOOT = ("options nvidia ", "systemd CPUAffinity")
REQUIRED = {"hardware", "purpose", "digest", "lines"}


@dataclass(frozen=True, kw_only=True)
class Change:
    """A line that differs; `before` or `after` is None if that plan has no such line."""

    group: Group
    key: str
    before: Any
    after: Any
    needs: str


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Two described plans and the lines that differ."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]
    changes: tuple[Change, ...]

    @property
    def reboot(self) -> bool:
        """True if a running machine would need a reboot."""
        return any(change.needs == "reboot" for change in self.changes)


def description(root: Path, word: str) -> Mapping[str, Any]:
    """The plan of a machine, a pool, or a file written by `--json`; raises SubjectError."""
    if not word.endswith(".json"):
        return describe(subject(root, word, None, ()))
    try:
        with open(word, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError) as error:
        raise SubjectError(f"{word} cannot be read as JSON: {error}.") from error
    if not isinstance(found, dict) or not found.keys() >= REQUIRED:
        raise SubjectError(f"{word} is no plan; `fleet plan NAME --json` writes one.")
    return found


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> Difference:
    """The lines that differ, in the order of GROUPS."""
    old, new = _by_key(before), _by_key(after)
    keys = sorted({*old, *new}, key=lambda key: (GROUPS.index(key[0]), key[1]))
    changes = tuple(
        Change(
            group=group,
            key=key,
            before=_shown(old.get((group, key))),
            after=_shown(new.get((group, key))),
            needs=_needs(group, key),
        )
        for group, key in keys
        if _shown(old.get((group, key))) != _shown(new.get((group, key)))
    )
    return Difference(before=before, after=after, changes=changes)


def _needs(group: Group, key: str) -> str:
    return "reboot" if group == "system" and key.startswith(AT_BOOT) else NEEDS[group]


def _by_key(plan: Mapping[str, Any]) -> dict[tuple[Group, str], Any]:
    return {(line["group"], line["key"]): line for line in plan["lines"]}


def _shown(line: Mapping[str, Any] | None) -> Any:
    """The value of a line, "set" for a line without a value, None for no line."""
    if line is None:
        return None
    return "set" if line["value"] is None else line["value"]
