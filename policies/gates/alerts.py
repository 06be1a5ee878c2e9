"""The gate at run time: one PrometheusRule with the alerts of the rules that have one.

A rule that no object can show, such as what is spent just now, is told when it is broken. So are
exemptions that have ended: a preview refuses them from the next day on, and CEL knows no clock, so
that an API server would go on with them until somebody deploys.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from string import Template
from textwrap import dedent
from typing import TypedDict

from policies.configuration import ConfiguredRule, Exemption
from policies.language.manifest import items
from policies.language.rule import Alert

NAME = "fleet-policies"
ENDED = "PolicyExemptionEnded"
INTERVAL = "60s"


class Manifest(TypedDict):
    """A PrometheusRule."""

    apiVersion: str
    kind: str
    metadata: dict[str, str]
    spec: dict[str, object]


def manifest(rules: Sequence[ConfiguredRule], *, namespace: str) -> Manifest:
    """The PrometheusRule of the rules that are not disabled, with their settings."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": NAME, "namespace": namespace},
        "spec": {"groups": [{"name": NAME, "interval": INTERVAL, "rules": list(_alerts(rules))}]},
    }


def _alerts(rules: Sequence[ConfiguredRule]) -> Iterator[Mapping[str, object]]:
    for each in rules:
        if each.level == "disabled":
            continue
        if each.rule.alert is not None:
            yield from _broken(each, each.rule.alert)
        for exemption in each.exemptions:
            yield _ended(each, exemption)


def _broken(configured: ConfiguredRule, alert: Alert) -> Iterator[Mapping[str, object]]:
    if alert.of_each is None:
        yield _alert(configured, alert, labels={}, values={})
        return
    for line in items(configured.settings[alert.of_each]):
        pool, _, last = str(line).partition(" ")
        values = {"end": _is_over(date.fromisoformat(last))}
        yield _alert(configured, alert, labels={"pool": pool}, values=values)


def _alert(
    configured: ConfiguredRule,
    alert: Alert,
    *,
    labels: Mapping[str, str],
    values: Mapping[str, int],
) -> Mapping[str, object]:
    rule = configured.rule
    expression = Template(dedent(alert.expression).strip())
    return {
        "alert": alert.name,
        "expr": expression.substitute({**configured.settings, **values}),
        "for": f"{alert.lasts_minutes}m",
        "labels": {"severity": alert.severity, "rule": rule.id, **labels},
        "annotations": {
            "summary": Template(alert.summary).safe_substitute(labels),  # leaves $value alone
            "description": rule.why,
            "runbook": f"{rule.sentence} See {rule.source}",
        },
    }


def _ended(configured: ConfiguredRule, exemption: Exemption) -> Mapping[str, object]:
    rule = configured.rule
    whose = f"The exemption of {exemption.resource} from {rule.id} ended on {exemption.until}"
    return {
        "alert": ENDED,
        "expr": f"vector(time()) >= {_is_over(exemption.until)}",
        "for": "0m",
        "labels": {"severity": "warning", "rule": rule.id, "resource": exemption.resource},
        "annotations": {
            "summary": _literal(f"{whose} ({exemption.owner}: {exemption.reason})"),
            "description": rule.why,
            "runbook": (
                "Mend the object and take the exemption out of gpu-fleet:policies, or have its "
                "owner give it a later day; the cluster lets the object through until then."
            ),
        },
    }


def _is_over(day: date) -> int:
    """The second at which a day has ended, in UTC."""
    return int(datetime.combine(day + timedelta(days=1), time(), tzinfo=UTC).timestamp())


def _literal(text: str) -> str:
    """A text that Prometheus does not take for a template."""
    return re.sub(r"\{\{", '{{ "{{" }}', text)
