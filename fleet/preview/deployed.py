"""Computes the cost of the deployed machines from the state of the stack."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from policies.language.inventory import usd_per_day_by_pool
from policies.language.manifest import at, items, mapping
from policies.language.rule import Manifest
from policies.rules.cost import change_budget

DEADLINE_S = 60.0


def usd_per_day_of_stack(
    root: Path, environment: str, pulumi: Path, variables: Mapping[str, str]
) -> float | None:
    """Returns USD a day of the deployed machines; None without any or without a readable state."""
    command = (str(pulumi), "stack", "export", f"--stack={environment}", "--non-interactive")
    try:
        done = subprocess.run(
            command, cwd=root, env=variables, capture_output=True, timeout=DEADLINE_S, check=True
        )
        return usd_per_day(json.loads(done.stdout))
    except (subprocess.SubprocessError, OSError, ValueError):  # the preview itself says why
        return None


def with_cost_before(
    rule_settings: Mapping[str, Mapping[str, object]], usd: float | None
) -> Mapping[str, Mapping[str, object]]:
    """Returns the settings of the rules with what a day costs before, where that is known."""
    if usd is None:
        return rule_settings
    said = rule_settings.get(change_budget.ID, {})
    return {**rule_settings, change_budget.ID: {"usd_per_day_before": usd, **said}}


def usd_per_day(state: object) -> float | None:
    """Returns the same from an exported state; no cost rule reads its encrypted secrets."""
    resources = items(at(state, "deployment", "resources"))
    pools = usd_per_day_by_pool(_manifest(mapping(each)) for each in resources)
    return round(sum(pools.values()), 2) if pools else None


def _manifest(resource: Mapping[str, object]) -> Manifest:
    inputs, kind = mapping(resource.get("inputs")), str(resource.get("type"))
    if kind.startswith("kubernetes:") and "kind" in inputs:
        return inputs
    name = str(resource.get("urn")).rpartition("::")[2]
    return {"kind": kind, "metadata": {"name": name}, "spec": inputs}
