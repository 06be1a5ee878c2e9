"""The rule on gangs that talk TCP although their pool offers RDMA devices."""

from typing import Any

import pytest

from policies.language.facts import KEY, Pool
from policies.rules.numa.gang_network import RULE
from tests.support import rule_facts
from tests.support.policies.gpu_pods import Object, container, gpu_container

DGX = rule_facts.pool(rdma="rdma/rails")
BURST = rule_facts.pool("burst", rdma="vpc.amazonaws.com/efa")
TCP = (
    ", else the gang talks TCP between machines: 3 GB/s of an all-reduce in place of 489 were "
    "measured on H100."
)


def job(replicas: int, *containers: Object, **spec: Any) -> Object:
    task = {
        "name": "worker",
        "replicas": replicas,
        "template": {"spec": {"containers": [*containers], **spec}},
    }
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "research"},
        "spec": {"minAvailable": replicas, "tasks": [task]},
    }


def told(found: Object, *pools: Pool) -> list[str]:
    assert RULE.predicate is not None
    return RULE.predicate(found, {KEY: {"pools": pools, "queues": []}})


def test_a_gang_is_held_to_the_pool_of_its_queue() -> None:
    assert RULE.predicate is not None
    queues = [{"name": "research", "gpus": 16, "pool": "dgx"}]
    plain = rule_facts.pool("plain")
    (said,) = RULE.predicate(job(2, whole()), {KEY: {"pools": [DGX, plain], "queues": queues}})
    assert "must ask for rdma/rails on pool 'dgx'" in said
    elsewhere = job(2, whole(), nodeSelector={"fleet.gpu/pool": "plain"})
    assert RULE.predicate(elsewhere, {KEY: {"pools": [DGX, plain], "queues": queues}}) == []


def whole(**more: Any) -> Object:
    return container(limits={"nvidia.com/gpu": 8, **more})


def test_a_gang_on_two_machines_is_told_the_price_of_tcp() -> None:
    (said,) = told(job(2, whole()), DGX)
    assert said.endswith(f"must ask for rdma/rails on pool 'dgx'{TCP}")


def test_a_gang_that_asks_for_its_pools_device_passes() -> None:
    assert told(job(2, whole(**{"rdma/rails": 1})), DGX) == []
    on_burst = {"nodeSelector": {"fleet.gpu/pool": "burst"}}
    assert told(job(2, whole(**{"vpc.amazonaws.com/efa": 32}), **on_burst), DGX, BURST) == []
    assert told(job(2, whole(**{"rdma/rails": 1}), **on_burst), DGX, BURST)


@pytest.mark.parametrize("found", [job(1, whole()), job(8, gpu_container())])
def test_a_gang_on_one_machine_is_left_alone(found: Object) -> None:
    assert told(found, DGX) == []


def test_a_gang_that_may_run_where_nothing_is_offered_is_left_alone() -> None:
    assert told(job(2, whole()), DGX, rule_facts.pool("plain")) == []
    assert told(job(2, whole())) == []


def test_a_gang_on_roce_is_told_only_where_the_device_would_work() -> None:
    roce = rule_facts.pool(rdma="rdma/rails", rdma_on_host=True)
    assert told(job(2, whole()), roce) == [], "in a queue's namespace TCP is all there is"
    assert told(job(2, whole(), hostNetwork=True), roce)
    assert told(job(2, whole(**{"rdma/rails": 1}), hostNetwork=True), roce) == []


def test_pods_without_gpus_are_left_alone() -> None:
    assert told(job(20, container(limits={"cpu": "4"})), DGX) == []
