"""The pack at work: the real engine, the program of this repository, one environment each."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.events import Outcome, Violation
from policies.gates.pack_config import POLICY
from policies.gates.plan import ADVISORY_POLICY
from policies.rules.idle import gpu_node_pool as idle_gpu_node_pool
from rehearsal.engine import EngineError
from tests.engine.conftest import Trial

RULE = idle_gpu_node_pool.RULE
NODE_POOLS = {"burst-reserved", "burst-spot"}
NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"

PROVIDER = """\
import pulumi
import pulumi_kubernetes as kubernetes

kubeconfig = pulumi.Config("gpu-fleet").require_secret("kubeconfig")
cluster = pulumi.ResourceOptions(provider=kubernetes.Provider("cluster", kubeconfig=kubeconfig))
"""
UNBOUNDED = """
kubernetes.apiextensions.CustomResource(
    "burst",
    api_version="karpenter.sh/v1",
    kind="NodePool",
    metadata={"name": "burst"},
    spec={
        "template": {"spec": {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]}},
        "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "10m"},
    },
    opts=cluster,
)
"""
ON_A_FORGOTTEN_PROVIDER = """
kubernetes.core.v1.Namespace("lost")
"""


def slow(config: dict[str, Any]) -> None:
    """A burst pool that keeps idle nodes for longer than the environment allows."""
    config["gpu-fleet:pools"]["burst"]["consolidate_after_minutes"] = 45
    config["gpu-fleet:policies"][RULE.id] = {"max_consolidate_after_minutes": 30}


def unchanged(_config: dict[str, Any]) -> None:
    pass


def foreign(folder: Path, program: str) -> Path:
    """Another project with a program of its own."""
    (folder / "Pulumi.yaml").write_text("name: gpu-fleet\nruntime: python\n")
    (folder / "__main__.py").write_text(program)
    return folder


def stopping(outcome: Outcome) -> list[Violation]:
    """What stops an update; what is only told may change with a price."""
    return [each for each in outcome.violations if each.level == "mandatory"]


def test_an_environment_that_breaks_a_rule_stops_at_preview_and_creates_nothing(
    twin_of_dev: Callable[..., Trial],
) -> None:
    trial = twin_of_dev(slow)

    with pytest.raises(EngineError) as stopped:
        trial.preview()

    for node_pool in NODE_POOLS:
        assert (
            f"{RULE.id}: NodePool '{node_pool}' has spec.disruption.consolidateAfter 45m; it must "
            "be at most 30m." in str(stopped.value)
        )
    violations = stopping(stopped.value.outcome)
    assert {v.resource for v in violations} == NODE_POOLS
    assert {v.policy for v in violations} == {POLICY}
    assert trial.created() == []
    assert trial.state() == []


@pytest.mark.slow
def test_the_same_environment_passes_with_the_rule_advisory_and_is_told(
    twin_of_dev: Callable[..., Trial],
) -> None:
    def advisory(config: dict[str, Any]) -> None:
        slow(config)
        config["gpu-fleet:policies"][RULE.id]["level"] = "advisory"

    outcome = twin_of_dev(advisory).preview()
    violations = [told for told in outcome.violations if f"{RULE.id}: " in told.message]

    assert stopping(outcome) == []
    assert {told.resource for told in violations} == NODE_POOLS
    for told in violations:
        assert (told.policy, told.level) == (ADVISORY_POLICY, "advisory")
        assert "45m; it must be at most 30m." in told.message


def test_a_good_environment_passes_and_update_registers_what_preview_showed(
    twin_of_dev: Callable[..., Trial],
) -> None:
    trial = twin_of_dev(unchanged)

    preview = trial.preview()
    assert stopping(preview) == []
    findings = trial.engine.findings("preview")
    # these hold tokens, which follow from a seed that the first update makes, or a key's digest
    unknown = {one.unknown for one in findings if one.state == "not checked"}
    key = "spec.template.metadata.annotations.fleet.gpu/access-key"
    assert unknown == {"stringData", "token", "userData", key}
    assert trial.created() == []
    shown = trial.registered("preview")
    assert stopping(trial.up()) == []

    assert trial.registered("up") == shown
    assert any(NODE_POOL in urn for urn in shown)
    assert {resource["urn"] for resource in trial.state()} == shown
    assert len(trial.created()) > 0


def test_a_foreign_program_is_held_to_the_same_rule(
    twin_of_dev: Callable[..., Trial], tmp_path: Path
) -> None:
    trial = twin_of_dev(unchanged).running(foreign(tmp_path, PROVIDER + UNBOUNDED))

    with pytest.raises(EngineError, match=r"must set spec\.limits\['nvidia\.com/gpu'\]"):
        trial.preview()

    assert trial.created() == []
    assert trial.state() == []


def test_a_resource_without_a_provider_is_an_error_and_not_a_change_in_some_account(
    twin_of_dev: Callable[..., Trial], tmp_path: Path
) -> None:
    trial = twin_of_dev(unchanged).running(foreign(tmp_path, PROVIDER + ON_A_FORGOTTEN_PROVIDER))

    with pytest.raises(EngineError, match=r"[Dd]efault provider for 'kubernetes' disabled"):
        trial.preview()
