"""The rules as values: what each must carry, and the names that none may use."""

import re

import pytest

from components.platform.monitoring import names
from components.platform.monitoring.alerts import ALERTS
from components.platform.monitoring.cost import BRANCH_DAYS, PoolGpus
from components.platform.monitoring.dcgm import METRICS
from components.platform.monitoring.groups import groups
from components.platform.monitoring.rules import (
    Alert,
    Group,
    Recording,
    prometheus_rule,
    rule_file,
)
from components.platform.monitoring.values import RETENTION_DAYS

POOLS = {"dgx": PoolGpus(gpus_per_node=8, usd_per_gpu_hour=2.35)}
RULES = [rule for group in groups(POOLS) for rule in group.rules]
RECORDED = re.compile(r"\b(?:pod|gpu|node|pool|team|branch):\w+:\w+")


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_an_alert_says_what_why_and_what_to_do(alert: Alert) -> None:
    manifest = alert.manifest()
    assert manifest["labels"] == {"severity": alert.severity}
    assert manifest["annotations"] == {
        "summary": alert.sentence,
        "description": alert.why,
        "runbook": alert.runbook,
    }
    assert all(len(text) > 20 for text in (alert.sentence, alert.why, alert.runbook))
    assert "$labels." in alert.sentence, "it must name what it is about"


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
        missing = set(RECORDED.findall(rule.expr)) - known
        assert not missing, f"{rule.name} uses {missing}"
        known.add(rule.name)


def test_every_dcgm_field_of_a_rule_is_one_that_the_exporter_is_told_to_read() -> None:
    used = {field for rule in RULES for field in re.findall(r"DCGM_\w+", rule.expr)}
    assert used
    assert used <= {metric.field for metric in METRICS}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_needs_no_label_that_changes_between_exporters(rule: Recording | Alert) -> None:
    text = str(rule.manifest())
    assert "ostname" not in text, "Hostname became hostname within a minor release"
    assert "GPU_UTIL" not in text, "MIG instances have none, and it is a percentage"
    exported = set(re.findall(r"exported_\w+", text))
    assert exported <= set(names.WORKLOAD.values())


def test_xids_are_matched_by_code_and_never_counted_by_rate() -> None:
    for rule in RULES:
        for function in ("rate", "increase", "changes", "delta"):
            assert not re.search(rf"{function}\s*\([^)]*XID", rule.expr), rule.name


def test_a_branchs_cost_is_added_up_over_less_than_prometheus_keeps() -> None:
    assert BRANCH_DAYS < RETENTION_DAYS


def test_an_expression_written_over_several_lines_loses_its_indentation() -> None:
    rule = Recording(
        name="a:b:c",
        expr="""
            up
              or down
        """,
        why="",
    )
    assert rule.manifest() == {"record": "a:b:c", "expr": "up\n  or down"}


def test_a_manifest_holds_the_groups_in_their_order() -> None:
    rule = Recording(name="a:b:c", expr="up", why="", labels={"pool": "dgx"})
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
