"""The rules that the program has put into the cluster, and the series that each of them reads."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rehearsal.api import Api

RULES = "/apis/monitoring.coreos.com/v1/prometheusrules"
_LEFT_OUT = re.compile(
    r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|\{[^}]*\}|\[[^\]]*\]'
    r"|\b(?:by|on|ignoring|without|group_left|group_right)\s*\([^)]*\)"
)
_NAME = re.compile(r"(?<![\w:.])[a-zA-Z_:][\w:]*(?!\w)(?!\s*\()")
_WORDS = frozenset(
    [
        "and",
        "or",
        "unless",
        "by",
        "on",
        "ignoring",
        "without",
        "group_left",
        "group_right",
        "offset",
        "bool",
        "inf",
        "nan",
    ]
)


@dataclass(frozen=True, kw_only=True)
class Rules:
    """All groups of all PrometheusRules, as Prometheus' rule files have them."""

    groups: Sequence[Mapping[str, Any]]

    @classmethod
    def read(cls, api: Api) -> "Rules":
        """Read them from the cluster."""
        found = api.items(RULES)
        return cls(groups=[group for each in found for group in each["spec"]["groups"]])

    @property
    def alerts(self) -> Mapping[str, frozenset[str]]:
        """What exporters must show for each alert, by its name."""
        rules = [rule for group in self.groups for rule in group["rules"]]
        recorded = {rule["record"]: str(rule["expr"]) for rule in rules if "record" in rule}
        return {
            rule["alert"]: _read(str(rule["expr"]), recorded) for rule in rules if "alert" in rule
        }

    @property
    def names(self) -> frozenset[str]:
        """All series that any alert reads."""
        return frozenset(name for names in self.alerts.values() for name in names)


def _read(expression: str, recorded: Mapping[str, str]) -> frozenset[str]:
    """Return the series of exporters that an expression reads, through recordings, too."""
    found: set[str] = set()
    known: set[str] = set()
    waiting = [expression]
    while waiting:
        for name in named(waiting.pop()):
            if name in recorded and name not in known:
                known.add(name)
                waiting.append(recorded[name])
            elif name not in recorded:
                found.add(name)
    return frozenset(found)


def named(expression: str) -> frozenset[str]:
    """Return the names of the series in an expression."""
    text = "\n".join(line.partition("#")[0] for line in expression.splitlines())
    return frozenset(_NAME.findall(_LEFT_OUT.sub(" ", text))) - _WORDS
