"""Which machines cannot take a job with GPUs, and how a HyperNode says so."""

from typing import Any

import pytest

from settings.names import GPU, POOL_LABEL
from workloads.controllers.pool_domains.domain import GPU_TAINT, POOL, unusable, without

OWN = {"key": GPU, "value": "present", "effect": "NoSchedule"}
MEMBERS = [{"type": "Node", "selector": {"labelMatch": {"matchLabels": {POOL: "burst"}}}}]


def node(name: str = "a", *, ready: str = "True", **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": f"host-{name}"}},
        "spec": {"taints": [OWN], **spec},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


def test_it_knows_the_names_that_the_program_gives() -> None:
    assert (POOL, GPU_TAINT) == (POOL_LABEL, GPU)


def test_a_machine_with_the_taint_of_gpus_alone_takes_work() -> None:
    soft = {"key": "soft", "effect": "PreferNoSchedule"}
    assert unusable([node(), node(taints=[OWN, soft]), node(taints=None)]) == []


@pytest.mark.parametrize(
    "out",
    [
        node(unschedulable=True),
        node(ready="False"),
        node(ready="Unknown"),
        {**node(), "status": {}},
        node(taints=[OWN, {"key": "fleet.gpu/drift", "effect": "NoSchedule"}]),
        node(taints=[OWN, {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]),
        node(taints=[OWN, {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]),
    ],
)
def test_a_machine_takes_no_work(out: dict[str, Any]) -> None:
    assert unusable([node("b"), out]) == ["host-a"]


def test_a_machine_that_is_being_deleted_takes_no_work() -> None:
    leaving = node()
    leaving["metadata"]["deletionTimestamp"] = "2026-11-22T12:00:00Z"
    assert unusable([leaving]) == ["host-a"]


def test_the_label_of_the_pool_stays_and_the_machines_are_left_out_by_name() -> None:
    said = without(MEMBERS, ["host-a", "host-b"])
    match = said[0]["selector"]["labelMatch"]
    assert match["matchLabels"] == {POOL: "burst"}
    assert match["matchExpressions"] == [
        {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["host-a", "host-b"]}
    ]
    assert without(said, []) == MEMBERS, "an expression without values would be refused"
