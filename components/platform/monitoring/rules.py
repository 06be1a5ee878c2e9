"""Recording rules and alerts as typed values, and the PrometheusRule that carries them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Literal, TypedDict

Severity = Literal["critical", "warning", "info"]
"""critical: somebody must act now; warning: today; info: worth a look."""


class Manifest(TypedDict):
    """An object of a kind that a CRD brings."""

    apiVersion: str
    kind: str
    metadata: dict[str, str]
    spec: dict[str, object]


EVALUATION_SECONDS = 60
"""The interval of every group; sums over time turn rates into amounts with it."""


@dataclass(frozen=True, kw_only=True)
class Recording:
    """A series of ours, named level:metric:operations; `why` says what it holds."""

    name: str
    expr: str
    why: str
    labels: Mapping[str, str] = field(default_factory=dict)

    def manifest(self) -> dict[str, object]:
        """The rule as Prometheus reads it."""
        rule: dict[str, object] = {"record": self.name, "expr": dedent(self.expr).strip()}
        return {**rule, "labels": dict(self.labels)} if self.labels else rule


@dataclass(frozen=True, kw_only=True)
class Alert:
    """What must hold and does not.

    `sentence` is what the person on call reads first (a template of Prometheus), `why` says what it
    costs to leave it, `runbook` what to do first.
    """

    name: str
    expr: str
    for_minutes: int
    severity: Severity
    sentence: str
    why: str
    runbook: str

    def manifest(self) -> dict[str, object]:
        """The rule as Prometheus reads it."""
        return {
            "alert": self.name,
            "expr": dedent(self.expr).strip(),
            "for": f"{self.for_minutes}m",
            "labels": {"severity": self.severity},
            "annotations": {
                "summary": self.sentence,
                "description": self.why,
                "runbook": self.runbook,
            },
        }


@dataclass(frozen=True, kw_only=True)
class Group:
    """Rules that Prometheus evaluates one after the other: a rule may use those above it."""

    name: str
    rules: Sequence[Recording | Alert]

    def manifest(self) -> dict[str, object]:
        """The group as Prometheus reads it."""
        return {
            "name": self.name,
            "interval": f"{EVALUATION_SECONDS}s",
            "rules": [rule.manifest() for rule in self.rules],
        }


def rule_file(groups: Sequence[Group]) -> dict[str, object]:
    """The groups as a rule file of Prometheus, which is also the `spec` of a PrometheusRule."""
    return {"groups": [group.manifest() for group in groups]}


def prometheus_rule(name: str, namespace: str, groups: Sequence[Group]) -> Manifest:
    """The PrometheusRule from which the Prometheus operator makes a rule file."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": name, "namespace": namespace},
        "spec": rule_file(groups),
    }
