"""Hands rules, series and expectations to the real promtool."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import yaml

from components.platform.monitoring.alerts import alerts, groups
from components.platform.monitoring.cost import PoolGpus
from components.platform.monitoring.idle_alerts import IdleLimits
from policies.gates.prometheus_rule import (
    EVALUATION_SECONDS,
    Group,
    Recording,
    rule_file,
)
from tests.support.monitoring.exporters import STEP_SECONDS, Series

POOLS = {
    "dgx": PoolGpus(gpus_per_node=8, usd_per_gpu_hour=2.5),
    "burst": PoolGpus(gpus_per_node=8, usd_per_gpu_hour=30),
    "lab": PoolGpus(gpus_per_node=1, usd_per_gpu_hour=None),
}
DAY_MINUTES = 24 * 60
SLOW_EVALUATION_SECONDS = 900  # of weeks: each minute of them would take half a minute of ours
LIMITS = IdleLimits(node_minutes=15, job_minutes=30)


@cache
def rule_text() -> str:
    """The project's rules as text; to write them takes longer than to test one."""
    return yaml.safe_dump(rule_file(groups(POOLS, LIMITS)), sort_keys=False)


def below(expr: str) -> list[Group]:
    """The recordings that `expr` stands on: all others beside it would only take time."""
    kept: list[Group] = []
    for group in reversed(groups(POOLS, LIMITS)):
        rules: list[Recording] = []
        for rule in reversed(group.rules):
            if isinstance(rule, Recording) and rule.name in expr:
                expr += rule.expression
                rules.insert(0, rule)
        kept.insert(0, replace(group, rules=rules))
    return [group for group in kept if group.rules]


@dataclass(frozen=True, kw_only=True)
class Fires:
    """An alert that fires: every label beside its severity, and the sentence that people read."""

    labels: Mapping[str, str]
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Promtool:
    """The program and a folder for its files."""

    program: Path
    folder: Path

    def rules(self, text: str | None = None) -> Path:
        """The project's rules as a rule file."""
        path = self.folder / "rules.yaml"
        path.write_text(text or rule_text())
        return path

    def check(self, text: str | None = None) -> str:
        """What promtool says of the rules; empty where it has nothing against them."""
        done = self._run("check", "rules", "--lint=all", "--lint-fatal", str(self.rules(text)))
        return "" if done.returncode == 0 else done.stdout + done.stderr

    def alert(
        self,
        name: str,
        minutes: int,
        series: Sequence[Series],
        fires: Sequence[Fires],
        limits: IdleLimits = LIMITS,
    ) -> str:
        """Why the alert does not fire exactly so; empty where it does."""
        (alert,) = (alert for alert in alerts(limits) if alert.name == name)
        annotations = {"description": alert.why, "runbook": alert.runbook}
        expected = [
            {
                "exp_labels": {"severity": alert.severity, **each.labels},
                "exp_annotations": {"summary": each.sentence, **annotations},
            }
            for each in fires
        ]
        test = {"eval_time": f"{minutes}m", "alertname": name, "exp_alerts": expected}
        own = Group(name="fleet-alerts", rules=(alert,))
        rules = self.rules(
            yaml.safe_dump(rule_file([*below(alert.expression), own]), sort_keys=False)
        )
        every = EVALUATION_SECONDS if minutes < DAY_MINUTES else SLOW_EVALUATION_SECONDS
        return self._test(rules, series, {"alert_rule_test": [test]}, every)

    def policy(
        self, text: str, name: str, minutes: int, series: Sequence[Series], fires: Sequence[Fires]
    ) -> str:
        """The same of an alert in another rule file, which stands on the project's rules."""
        written = yaml.safe_load(text)["groups"]
        alerts = [rule for group in written for rule in group["rules"] if rule["alert"] == name]
        expected = []
        for each in fires:
            # the labels of the rule, and those of the series that sets the alert off
            (alert,) = (
                a
                for a in alerts
                if all(each.labels.get(key, value) == value for key, value in a["labels"].items())
            )
            summary = {**alert["annotations"], "summary": each.sentence}
            labels = {**alert["labels"], **each.labels}
            expected.append({"exp_labels": labels, "exp_annotations": summary})
        test = {"eval_time": f"{minutes}m", "alertname": name, "exp_alerts": expected}
        stood_on = below(" ".join(alert["expr"] for alert in alerts))
        whole = [*yaml.safe_load(yaml.safe_dump(rule_file(stood_on)))["groups"], *written]
        rules = self.rules(yaml.safe_dump({"groups": whole}, sort_keys=False))
        return self._test(rules, series, {"alert_rule_test": [test]})

    def values(
        self, minutes: int, series: Sequence[Series], expected: Mapping[str, Mapping[str, float]]
    ) -> str:
        """Why the expressions do not have exactly these series; empty where they do."""
        tests = [
            {
                "expr": expr,
                "eval_time": f"{minutes}m",
                "exp_samples": [
                    {"labels": labels, "value": value} for labels, value in samples.items()
                ],
            }
            for expr, samples in expected.items()
        ]
        return self._test(self.rules(), series, {"promql_expr_test": tests})

    def _test(
        self,
        rules: Path,
        series: Sequence[Series],
        checks: Mapping[str, object],
        every: int = EVALUATION_SECONDS,
    ) -> str:
        test = {
            "interval": f"{STEP_SECONDS}s",
            "input_series": [
                {"series": each.selector, "values": each.notation()} for each in series
            ],
            **checks,
        }
        path = self.folder / "test.yaml"
        path.write_text(
            yaml.safe_dump(
                {
                    "rule_files": [rules.name],
                    "evaluation_interval": f"{every}s",
                    "fuzzy_compare": True,
                    "group_eval_order": [group.name for group in groups(POOLS, LIMITS)],
                    "tests": [test],
                }
            )
        )
        done = self._run("test", "rules", str(path))
        return "" if done.returncode == 0 else done.stdout + done.stderr

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.program, *arguments], capture_output=True, text=True, check=False, timeout=120
        )
