"""The rule on plain manifests: what a GPU NodePool is, and what it must say."""

from typing import Any

import pytest

from policies.language.gpu_node_pools import is_gpu_node_pool
from policies.language.rule import Manifest
from policies.rules.idle.gpu_node_pool import RULE
from tests.support.policies.node_pools import ABSENT, bare, node_pool


def violations(manifest: Manifest, minutes: int = 15, hours: int = 168) -> list[str]:
    assert RULE.predicate is not None
    return RULE.predicate(
        manifest, {"max_consolidate_after_minutes": minutes, "longest_job_hours": hours}
    )


def demand(key: str, operator: str, *values: str) -> dict[str, Any]:
    requirement = {"key": key, "operator": operator, "values": list(values)}
    return bare(spec={"requirements": [requirement]})


def test_a_bounded_pool_that_consolidates_in_time_passes() -> None:
    assert violations(node_pool()) == []


LIMITS = "spec.limits"
AFTER = "spec.disruption.consolidateAfter"
POLICY = "spec.disruption.consolidationPolicy"
BUDGETS = "spec.disruption.budgets"
EXPIRE = "spec.template.spec.expireAfter"


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (
            LIMITS,
            ABSENT,
            "NodePool 'burst' must set spec.limits['nvidia.com/gpu'] to its number of GPUs.",
        ),
        (LIMITS, {"memory": "2Ti", "cpu": 192}, "['nvidia.com/gpu'] to its number of GPUs."),
        (LIMITS, {"nvidia.com/gpu": "many"}, "has spec.limits['nvidia.com/gpu'] many; it must"),
        (LIMITS, {"nvidia.com/gpu": -1}, "has spec.limits['nvidia.com/gpu'] -1; it must"),
        (LIMITS, "16", "to its number of GPUs."),
        (
            AFTER,
            ABSENT,
            "NodePool 'burst' must set spec.disruption.consolidateAfter, to at most 15m.",
        ),
        (AFTER, "Never", "consolidateAfter Never, which keeps idle nodes for good"),
        (AFTER, "60m", "consolidateAfter 60m; it must be at most 15m."),
        (AFTER, "1h30m", "consolidateAfter 1h30m; it must be at most 15m."),
        (AFTER, "901s", "consolidateAfter 901s; it must be at most 15m."),
        (AFTER, "1.5h", "consolidateAfter '1.5h'; it must be a duration such as 1h30m"),
        (AFTER, 600, "consolidateAfter 600; it must be a duration such as 1h30m"),
        (POLICY, "WhenUnderutilized", "consolidationPolicy 'WhenUnderutilized'; it must be one"),
        (BUDGETS, [{"nodes": "10%"}, {"nodes": "0"}], "spec.disruption.budgets nodes 0 at all"),
        (BUDGETS, [{"nodes": "0%", "reasons": ["Empty", "Drifted"]}], "nodes 0 at all times"),
        (EXPIRE, "167h59m", "expireAfter 167h59m; it must be Never or at least the 168h of a long"),
        (EXPIRE, "7d", "expireAfter '7d'; it must be Never or a duration such as 720h."),
        (EXPIRE, "9999999999h", "it must be Never or a duration such as 720h."),
        ("spec.replicas", 2, "has spec.replicas; a GPU NodePool must be dynamic"),
        ("spec", {"replicas": 0, "limits": {"nvidia.com/gpu": 8}}, "has spec.replicas;"),
    ],
)
def test_a_pool_that_breaks_the_rule_is_told_the_value_and_what_must_be(
    path: str, value: object, sentence: str
) -> None:
    (said,) = violations(node_pool(path, value))

    assert sentence in said
    assert said.startswith("NodePool 'burst' ")
    assert "must" in said


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (LIMITS, {"nvidia.com/gpu": "16"}),
        (LIMITS, {"nvidia.com/gpu": "1k"}),
        (LIMITS, {"nvidia.com/gpu": 0}),
        (AFTER, "0s"),
        (AFTER, "30s"),
        (AFTER, "15m"),
        (AFTER, "0h14m60s"),
        ("spec.disruption", ABSENT),
        (POLICY, ABSENT),
        (EXPIRE, "Never"),
        (EXPIRE, "168h"),
        (POLICY, "WhenEmptyOrUnderutilized"),
        (POLICY, "Balanced"),
        (BUDGETS, [{"nodes": "0", "schedule": "@daily", "duration": "8h"}]),
        (BUDGETS, [{"nodes": "0", "reasons": ["Drifted"]}]),
        (BUDGETS, [{"nodes": "10%"}]),
    ],
)
def test_every_form_that_karpenter_honours_passes(path: str, value: object) -> None:
    assert violations(node_pool(path, value)) == []


def test_all_that_is_wrong_with_a_pool_is_said_at_once() -> None:
    pool = bare(spec={"taints": [{"key": "nvidia.com/gpu"}], "expireAfter": "1h"})
    pool["spec"]["disruption"] = {"consolidationPolicy": "Never"}

    faults = violations(pool)

    assert len(faults) == 4
    assert all(fault.startswith("NodePool 'bare' ") for fault in faults)


def test_the_configured_minutes_are_the_bound() -> None:
    assert violations(node_pool(AFTER, "30m"), minutes=30) == []
    assert "at most 29m" in violations(node_pool(AFTER, "30m"), minutes=29)[0]


def test_a_job_longer_than_karpenters_own_720h_needs_a_pool_that_says_so() -> None:
    assert violations(node_pool(), hours=720) == []
    assert "expireAfter 720h; it must be Never or at" in violations(node_pool(), hours=721)[0]


@pytest.mark.parametrize(
    "manifest",
    [
        bare(spec={"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]}),
        bare(spec={"startupTaints": [{"key": "nvidia.com/gpu", "effect": "NoExecute"}]}),
        bare(metadata={"labels": {"nvidia.com/gpu.present": "true"}}),
        bare(metadata={"labels": {"fleet.gpu/hardware": "p5en.48xlarge"}}),
        demand("node.kubernetes.io/instance-type", "In", "m7i.large", "g6.xlarge"),
        demand("karpenter.k8s.aws/instance-family", "In", "p6-b200"),
        demand("karpenter.k8s.aws/instance-family", "In", "g4dn"),
        demand("karpenter.k8s.aws/instance-family", "In", "gr6"),
        demand("karpenter.k8s.aws/instance-category", "In", "c", "g"),
        demand("karpenter.k8s.aws/instance-gpu-manufacturer", "In", "nvidia"),
        demand("karpenter.k8s.aws/instance-gpu-name", "Exists"),
        demand("karpenter.k8s.aws/instance-gpu-count", "Gt", "0"),
        demand("karpenter.k8s.aws/instance-gpu-count", "Gte", "1"),
        demand("karpenter.k8s.aws/instance-gpu-memory", "Gt", "80000"),
        node_pool("spec.template", {}),
    ],
)
def test_a_pool_that_names_gpus_is_a_gpu_pool(manifest: Manifest) -> None:
    assert is_gpu_node_pool(manifest)


@pytest.mark.parametrize(
    "manifest",
    [
        bare(),
        bare(spec={"requirements": []}),
        bare(spec={"taints": [{"key": "dedicated", "value": "gpu"}]}),
        demand("node.kubernetes.io/instance-type", "In", "c7g.large", "t3.large"),
        demand("node.kubernetes.io/instance-type", "NotIn", "p5e.48xlarge"),
        demand("karpenter.k8s.aws/instance-family", "In", "g4ad", "g6f", "gr6f"),
        demand("karpenter.k8s.aws/instance-category", "In", "c", "m", "r"),
        demand("karpenter.k8s.aws/instance-category", "NotIn", "p", "g"),
        demand("karpenter.k8s.aws/instance-gpu-manufacturer", "In", "amd"),
        demand("karpenter.k8s.aws/instance-gpu-count", "DoesNotExist"),
        demand("karpenter.k8s.aws/instance-gpu-count", "In", "0"),
        demand("karpenter.k8s.aws/instance-gpu-count", "Lt", "1"),
        demand("fleet.gpu/hardware", "In", "ccx33"),
        {**node_pool(), "kind": "NodeClaim"},
        {**node_pool(), "apiVersion": "cloud.google.com/v1"},
        {"kind": "NodePool"},
        {},
    ],
)
def test_a_pool_that_names_none_is_left_alone(manifest: Manifest) -> None:
    assert not is_gpu_node_pool(manifest)
    assert violations(manifest) == []


@pytest.mark.parametrize("broken", ["text", 7, ["list"], True])
@pytest.mark.parametrize("path", ["spec.disruption", "spec.template", "spec.template.spec"])
def test_a_misshapen_pool_is_judged_and_throws_nothing(path: str, broken: object) -> None:
    faults = violations(node_pool(path, broken))

    assert bool(faults) == (path == "spec.disruption")
