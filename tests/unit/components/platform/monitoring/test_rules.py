"""The rules as values: what each must carry, and the names that none may use."""

import re

import pytest

from components.platform.monitoring import promql
from components.platform.monitoring.alerts import alerts, groups
from components.platform.monitoring.cost import BRANCH_DAYS, PoolGpus
from components.platform.monitoring.dcgm import METRICS
from components.platform.monitoring.idle_alerts import IdleLimits
from components.platform.monitoring.values import RETENTION_DAYS
from policies.configuration import configure
from policies.gates.prometheus_rule import (
    Group,
    Recording,
    prometheus_rule,
    rule_entry,
    rule_file,
)
from policies.language.rule import Alert
from policies.rules import ALL

POOLS = {"dgx": PoolGpus(gpus_per_node=8, usd_per_gpu_hour=2.35)}
LIMITS = IdleLimits.of(configure({}))
RULES = [rule for group in groups(POOLS, LIMITS) for rule in group.rules]
# the setting that an alert follows, by rule and alert
FOLLOWED = [
    ("idle/gpu-node-pool", "max_consolidate_after_minutes", "GpuNodeIdle"),
    ("idle/job-deadline", "max_idle_minutes", "GpuPodIdle"),
]
RECORDED = re.compile(r"\b(?:pod|gpu|node|pool|team|branch):\w+:\w+")


@pytest.mark.parametrize("alert", alerts(LIMITS), ids=lambda alert: alert.name)
def test_an_alert_says_what_why_and_what_to_do(alert: Alert) -> None:
    entry = rule_entry(alert)
    assert entry["labels"] == {"severity": alert.severity}
    assert entry["annotations"] == {
        "summary": alert.summary,
        "description": alert.why,
        "runbook": alert.runbook,
    }
    assert all(len(text) > 20 for text in (alert.summary, alert.why, alert.runbook))
    assert "$labels." in alert.summary, "it must name what it is about"


def followed(rule: str, setting: str, minutes: int, name: str) -> Alert:
    """The alert of a name where an environment has set the rule so."""
    limits = IdleLimits.of(configure({rule: {setting: minutes}}))
    (found,) = (alert for alert in alerts(limits) if alert.name == name)
    return found


@pytest.mark.parametrize(("rule", "setting", "name"), FOLLOWED)
def test_an_alert_waits_for_as_long_as_the_rule_that_it_watches_allows(
    rule: str, setting: str, name: str
) -> None:
    short, long = (followed(rule, setting, minutes, name) for minutes in (60, 240))
    assert long.lasts_minutes - short.lasts_minutes == 180
    assert followed(rule, setting, 1, name).lasts_minutes > 0


def test_the_alert_on_an_idle_pod_says_for_how_long() -> None:
    allowed = followed("idle/job-deadline", "max_idle_minutes", 240, "GpuPodIdle")
    assert "for 240 minutes" in allowed.summary
    measured = followed("idle/job-deadline", "max_idle_minutes", 5, "GpuPodIdle")
    assert "for 30 minutes" in measured.summary, "nothing shorter is measured"


def test_every_watched_rule_with_settings_has_an_alert_that_follows_one() -> None:
    watched = {rule.id for rule in ALL if rule.schema and rule.watched_by}
    assert {rule for rule, _, _ in FOLLOWED} == watched


def test_every_recording_rule_says_what_it_holds() -> None:
    assert all(len(rule.why) > 10 for rule in RULES if isinstance(rule, Recording))


def test_no_two_rules_have_one_name() -> None:
    seen = [
        (rule.name, *(rule.labels.items() if isinstance(rule, Recording) else ())) for rule in RULES
    ]
    assert len(set(seen)) == len(seen)


def test_a_rule_uses_only_recorded_series_of_rules_above_it() -> None:
    known: set[str] = set()
    for rule in RULES:
        missing = set(RECORDED.findall(rule.expression)) - known
        assert not missing, f"{rule.name} uses {missing}"
        known.add(rule.name)


def test_every_dcgm_field_of_a_rule_is_one_that_the_exporter_is_told_to_read() -> None:
    used = {field for rule in RULES for field in re.findall(r"DCGM_\w+", rule.expression)}
    assert used
    assert used <= {metric.field for metric in METRICS}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_needs_no_label_that_changes_between_exporters(rule: Recording | Alert) -> None:
    text = str(rule_entry(rule))
    assert "ostname" not in text, "Hostname became hostname within a minor release"
    assert "GPU_UTIL" not in text, "MIG instances have none, and it is a percentage"
    exported = set(re.findall(r"exported_\w+", text))
    assert exported <= set(promql.WORKLOAD.values())


def test_xids_are_matched_by_code_and_never_counted_by_rate() -> None:
    for rule in RULES:
        for function in ("rate", "increase", "changes", "delta"):
            assert not re.search(rf"{function}\s*\([^)]*XID", rule.expression), rule.name


def test_a_branchs_cost_is_added_up_over_less_than_prometheus_keeps() -> None:
    assert BRANCH_DAYS < RETENTION_DAYS


def test_an_expression_written_over_several_lines_loses_its_indentation() -> None:
    rule = Recording(
        name="a:b:c",
        expression="""
            up
              or down
        """,
        why="",
    )
    assert rule_entry(rule) == {"record": "a:b:c", "expr": "up\n  or down"}


def test_a_manifest_holds_the_groups_in_their_order() -> None:
    rule = Recording(name="a:b:c", expression="up", why="", labels={"pool": "dgx"})
    wanted = [Group(name="first", rules=[rule]), Group(name="second", rules=[])]
    manifest = prometheus_rule("gpu-fleet", "monitoring", wanted)
    assert manifest["metadata"] == {"name": "gpu-fleet", "namespace": "monitoring"}
    assert manifest["spec"] == rule_file(wanted)
    assert rule_file(wanted) == {
        "groups": [
            {
                "name": "first",
                "interval": "60s",
                "rules": [{"record": "a:b:c", "expr": "up", "labels": {"pool": "dgx"}}],
            },
            {"name": "second", "interval": "60s", "rules": []},
        ]
    }
