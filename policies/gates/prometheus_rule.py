"""Recordings and alerts as a PrometheusRule, the object that the Prometheus operator reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import dedent
from typing import TypedDict

from policies.language.rule import Alert

EVALUATION_SECONDS = 60
"""The interval of every group; sums over time turn rates into amounts with it."""


class Manifest(TypedDict):
    """An object of a kind that a CRD brings."""

    apiVersion: str
    kind: str
    metadata: dict[str, str]
    spec: dict[str, object]


@dataclass(frozen=True, kw_only=True)
class Recording:
    """A recorded series, named level:metric:operations; `why` says what it holds."""

    name: str
    expression: str
    why: str
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Group:
    """Rules that Prometheus evaluates one after the other: a rule may use those above it."""

    name: str
    rules: Sequence[Recording | Alert]


def prometheus_rule(name: str, namespace: str, groups: Sequence[Group]) -> Manifest:
    """Returns the PrometheusRule with these groups."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": name, "namespace": namespace},
        "spec": rule_file(groups),
    }


def rule_file(groups: Sequence[Group]) -> dict[str, object]:
    """Returns a rule file of Prometheus, which is also the `spec` of a PrometheusRule."""
    return {
        "groups": [
            {
                "name": group.name,
                "interval": f"{EVALUATION_SECONDS}s",
                "rules": [rule_entry(rule) for rule in group.rules],
            }
            for group in groups
        ]
    }


def rule_entry(rule: Recording | Alert) -> dict[str, object]:
    """Returns one rule of a rule file; an expression of several lines loses its indentation."""
    expression = dedent(rule.expression).strip()
    if isinstance(rule, Recording):
        labels = {"labels": dict(rule.labels)} if rule.labels else {}
        return {"record": rule.name, "expr": expression, **labels}
    return {
        "alert": rule.name,
        "expr": expression,
        "for": f"{rule.lasts_minutes}m",
        "labels": {"severity": rule.severity, **rule.labels},
        "annotations": {
            "summary": rule.summary,
            "description": rule.why,
            "runbook": rule.runbook,
        },
    }
