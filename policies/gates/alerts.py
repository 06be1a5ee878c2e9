"""The gate at run time: one PrometheusRule with the alerts of the rules that have one.

No object shows, for instance, what is spent just now; such a rule has an alert. So has each
exemption that has ended: a preview and the API server refuse what is made from the next day on, but
what runs already goes on.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from string import Template
from textwrap import dedent

from policies.configuration import ConfiguredRule, Exemption
from policies.gates.prometheus_rule import Group, Manifest, prometheus_rule
from policies.language.rule import Alert

NAME = "fleet-policies"
ENDED = "PolicyExemptionEnded"


def manifest(rules: Sequence[ConfiguredRule], *, namespace: str) -> Manifest:
    """Returns the PrometheusRule of the rules that are not disabled, with their settings."""
    return prometheus_rule(NAME, namespace, [Group(name=NAME, rules=list(_alerts(rules)))])


def _alerts(rules: Sequence[ConfiguredRule]) -> Iterator[Alert]:
    for each in rules:
        if each.level == "disabled":
            continue
        if each.rule.alert is not None:
            yield from _broken(each, each.rule.alert)
        for exemption in each.exemptions:
            yield _ended(each, exemption)


def _broken(configured: ConfiguredRule, alert: Alert) -> Iterator[Alert]:
    if not alert.of_reserved_pools:
        yield _alert(configured, alert, labels={}, values={})
        return
    for pool in configured.facts["pools"]:
        if "reserved_until" in pool:
            values = {"end": _is_over(date.fromisoformat(pool["reserved_until"]))}
            yield _alert(configured, alert, labels={"pool": pool["name"]}, values=values)


def _alert(
    configured: ConfiguredRule,
    alert: Alert,
    *,
    labels: Mapping[str, str],
    values: Mapping[str, int],
) -> Alert:
    rule = configured.rule
    expression = Template(dedent(alert.expression).strip())
    return replace(
        alert,
        expression=expression.substitute({**configured.settings, **values}),
        summary=Template(alert.summary).safe_substitute(labels),  # leaves $value alone
        why=rule.why,
        runbook=f"{rule.sentence} See {rule.source}",
        labels={"rule": rule.id, **labels},
    )


def _ended(configured: ConfiguredRule, exemption: Exemption) -> Alert:
    rule = configured.rule
    whose = f"The exemption of {exemption.whom} from {rule.id} ended on {exemption.until}"
    return Alert(
        name=ENDED,
        expression=f"vector(time()) >= {_is_over(exemption.until)}",
        lasts_minutes=0,
        severity="warning",
        summary=_literal(f"{whose} ({exemption.owner}: {exemption.reason})"),
        why=rule.why,
        runbook=(
            "Mend the object and take the exemption out of gpu-fleet:policies, or have its owner "
            "give it a later day; the cluster refuses new objects, and lets changes of old ones "
            "through until the next update."
        ),
        labels={"rule": rule.id, "resource": exemption.whom},
    )


def _is_over(day: date) -> int:
    """Returns the second at which a day has ended, in UTC."""
    return int(datetime.combine(day + timedelta(days=1), time(), tzinfo=UTC).timestamp())


def _literal(text: str) -> str:
    """Escapes a text so that Prometheus does not take it for a template."""
    return re.sub(r"\{\{", '{{ "{{" }}', text)
