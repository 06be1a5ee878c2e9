"""The rule on pods with MIG instances that count on peer-to-peer transfer."""

import pytest

from policies.rules.numa.mig_peer_to_peer import RULE
from tests.support.policies.gpu_pods import KINDS, annotated, container, gpu_container, pod, told

DECLARED = "fleet.gpu/peer-to-peer"
INSTANCE = {"nvidia.com/mig-1g.18gb": 2}
MUST = "must ask for whole GPUs, because MIG instances have no peer-to-peer transfer."


@pytest.mark.parametrize("kind", KINDS)
def test_a_variable_of_nccl_that_asks_for_it_is_refused(kind: str) -> None:
    asking = container(limits=INSTANCE, env=[{"name": "NCCL_P2P_LEVEL", "value": "NVL"}])

    (said,) = told(RULE, KINDS[kind]({"containers": [asking]}))

    assert said.endswith(f" {MUST}")


@pytest.mark.parametrize(
    ("name", "value", "asks"),
    [
        ("NCCL_P2P_LEVEL", "SYS", True),
        ("NCCL_P2P_LEVEL", "LOC", False),
        ("NCCL_P2P_LEVEL", "0", False),
        ("NCCL_P2P_DISABLE", "0", True),
        ("NCCL_P2P_DISABLE", "1", False),
        ("NCCL_NVLS_ENABLE", "1", True),
        ("NCCL_NVLS_ENABLE", "0", False),
        ("NCCL_DEBUG", "1", False),
    ],
)
def test_a_variable_asks_by_its_value(name: str, value: str, asks: bool) -> None:
    env = [{"name": "HOME", "value": "/"}, {"name": name, "value": value}]

    found = told(RULE, pod(container(limits=INSTANCE, env=env)))

    assert found == ([f"Pod 'p' {MUST}"] if asks else [])


def test_a_value_from_elsewhere_is_not_known() -> None:
    env = [{"name": "NCCL_P2P_LEVEL", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}]

    assert told(RULE, pod(container(limits=INSTANCE, env=env))) == []


def test_a_pod_that_declares_it_is_refused() -> None:
    for value, said in (("true", [f"Pod 'p' {MUST}"]), ("false", [])):
        assert told(RULE, annotated(pod(container(limits=INSTANCE)), {DECLARED: value})) == said


def test_whole_gpus_may_reach_each_other() -> None:
    whole = gpu_container(gpus=8)
    whole["env"] = [{"name": "NCCL_P2P_LEVEL", "value": "NVL"}]

    assert told(RULE, annotated(pod(whole), {DECLARED: "true"})) == []
    assert told(RULE, pod(container(limits=INSTANCE))) == []
