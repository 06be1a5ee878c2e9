"""Gangs, queues and pools: what can ever start."""

from typing import Any

import pytest
import yaml

from policies.language.facts import KEY, Queue
from policies.rules.idle.gang_fits import RULE
from tests.support.policies.environments import stack as environment
from tests.support.policies.gpu_pods import gpu_container
from tests.support.policies.machines import Resource, host, node_pool
from tests.support.rule_facts import queues


def violations(manifest: Resource, *stack: Resource) -> list[str]:
    assert RULE.across is not None
    return RULE.across(manifest, {}, [manifest, *stack])


def alone(manifest: Resource, research: int) -> list[str]:
    assert RULE.predicate is not None
    return RULE.predicate(manifest, queues(research=research))


def queue(gpus: object = "16", name: str = "research") -> Resource:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"capability": {"nvidia.com/gpu": gpus}},
    }


def volcano(**pools: str) -> Resource:
    """Volcano's release with the pool of each namespace."""
    groups = [
        {
            "resourceGroup": pool,
            "object": {"key": "namespace", "value": [space]},
            "labels": {"fleet.gpu/pool": pool},
        }
        for space, pool in pools.items()
    ]
    text = yaml.safe_dump({"resourceGroups": groups})
    spec = {"chart": "volcano", "values": {"custom": {"admission_config_override": text}}}
    return {"kind": "kubernetes:helm.sh/v3:Release", "metadata": {"name": "v"}, "spec": spec}


def gang(*tasks: tuple[object, int], **spec: object) -> Resource:
    """A Job of Volcano in the namespace `research`: replicas and GPUs of each task."""
    made = [
        {
            "name": f"t{number}",
            "replicas": replicas,
            "template": {"spec": {"containers": [gpu_container(gpus=gpus)]}},
        }
        for number, (replicas, gpus) in enumerate(tasks)
    ]
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "research"},
        "spec": {"tasks": made, **spec},
    }


def pod_group(gpus: str, **spec: object) -> Resource:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "research"},
        "spec": {"minResources": {"nvidia.com/gpu": gpus}, **spec},
    }


def test_a_queue_as_large_as_its_pool_passes() -> None:
    stack = (volcano(research="dgx"), host(), host(name="dgx-02"), node_pool(64))

    assert violations(queue("16"), *stack) == []


def test_a_queue_larger_than_its_pool_is_refused_whatever_other_pools_have() -> None:
    stack = (volcano(research="dgx"), host(), host(name="dgx-02"), node_pool(64))

    assert violations(queue("17"), *stack) == [
        (
            "Queue 'research' must have at most the 16 GPUs of pool 'dgx' in "
            "spec.capability['nvidia.com/gpu']; it has 17."
        )
    ]


def test_the_capacity_types_of_a_pool_are_one_pool() -> None:
    stack = (volcano(research="burst"), node_pool(8), node_pool("8", capacity="spot"))

    assert violations(queue("16"), *stack) == []
    assert "must have at most the 16 GPUs of pool 'burst'" in violations(queue(24), *stack)[0]


def test_a_queue_without_a_pool_may_use_all_of_them() -> None:
    assert violations(queue("24"), host(), node_pool(16)) == []
    assert "at most the 24 GPUs of all pools" in violations(queue("25"), host(), node_pool(16))[0]


def test_a_stack_without_pools_says_nothing_of_queues() -> None:
    assert violations(queue("1000")) == []
    assert violations(queue("1000"), volcano(research="dgx"), node_pool(16)) == []


@pytest.mark.parametrize(
    ("job", "gpus"),
    [
        (gang((3, 8)), 24),
        (gang((3, 8), minAvailable=3), 24),
        (gang((1, 8), (2, 8)), 24),
        (gang((2, 8), (8, 1), minAvailable=10), 24),
        (gang((3, 8), queue="research"), 24),
        (gang((3, 8), queue="default"), 24),
        (pod_group("24"), 24),
    ],
)
def test_a_gang_larger_than_its_queue_is_refused(job: Resource, gpus: int) -> None:
    kind = f"{job['kind']} '{job['metadata']['name']}'"

    must = "must be a gang of at most the 16 GPUs of queue 'research'"
    assert violations(job, queue("16")) == [f"{kind} {must}; it asks for {gpus} at once."]
    assert violations(job, queue("24")) == []


@pytest.mark.parametrize(
    "job",
    [
        gang((3, 8), minAvailable=2),
        gang((2, 8), (8, 1), minAvailable=9),
        gang((3, 8), queue="elsewhere"),
        gang((3, 8), namespace="other"),
        gang((0, 8)),
        gang(("2", 8)),
    ],
)
def test_a_gang_that_can_start_passes(job: Resource) -> None:
    if "namespace" in job["spec"]:
        job["metadata"]["namespace"] = job["spec"]["namespace"]

    assert violations(job, queue("16")) == []


def test_a_gang_larger_than_the_machines_of_its_queues_pool_is_refused() -> None:
    stack = (queue("32"), volcano(research="dgx"), host(), host(name="dgx-02"))

    (said,) = violations(gang((3, 8)), *stack)

    assert "at most the 16 GPUs of pool 'dgx'; it asks for 24 at once." in said


@pytest.mark.parametrize(
    ("job", "gpus"),
    [
        (gang((3, 8)), 24),
        (gang((4, 8), minAvailable=3), 24),
        (gang((1, 0), (3, 8), minAvailable=4), 24),
        (gang((3, 8), queue="research"), 24),
        (pod_group("24"), 24),
    ],
)
def test_a_gang_is_judged_alone_by_what_its_queue_may_hold(job: Resource, gpus: int) -> None:
    assert RULE.predicate is not None
    named = f"{job['kind']} '{job['metadata']['name']}'"

    assert RULE.predicate(job, queues(other=1, research=16)) == [
        (
            f"{named} must be a gang of at most the 16 GPUs of queue 'research'; "
            f"it asks for {gpus} at once."
        )
    ]
    assert RULE.predicate(job, queues(research=24)) == []
    assert RULE.predicate(job, queues(other=1)) == []
    assert RULE.predicate(job, queues()) == []


def test_a_gang_of_several_sizes_counts_as_without_its_largest_pods_when_alone() -> None:
    assert RULE.predicate is not None
    job = gang((2, 8), (8, 1), minAvailable=9)

    assert RULE.predicate(job, queues(research=15)) != []
    assert RULE.predicate(job, queues(research=16)) == []


def test_a_quantity_that_nobody_can_read_is_not_counted() -> None:
    job: Any = gang((3, 8))
    limits = job["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["resources"]["limits"]
    limits["nvidia.com/gpu"] = "abc"

    assert violations(job, queue("16")) == []
    assert violations(queue("abc"), host()) == []


def test_a_queue_of_prod_that_grows_beyond_its_pool_is_refused() -> None:
    resources: Any = environment("prod")
    (production,) = (
        each
        for each in resources
        if each["kind"] == "Queue" and each["metadata"]["name"] == "production"
    )
    grown = {**production, "spec": {**production["spec"], "capability": {"nvidia.com/gpu": "129"}}}

    assert violations(production, *resources) == []
    assert "must have at most the 128 GPUs of pool 'dgx'" in violations(grown, *resources)[0]


def test_a_job_without_a_number_starts_with_what_its_tasks_need() -> None:
    elastic = gang((8, 8))
    elastic["spec"]["tasks"][0]["minAvailable"] = 2

    assert violations(elastic, queue("16"), node_pool(64)) == []
    assert alone(elastic, 16) == []
    elastic["spec"]["tasks"][0]["minAvailable"] = 3
    assert violations(elastic, queue("16"), node_pool(64)) != []
    assert alone(elastic, 16) != []


def test_an_init_container_uses_the_gpus_before_the_others_do() -> None:
    checked = gang((2, 8))
    checked["spec"]["tasks"][0]["template"]["spec"]["initContainers"] = [
        gpu_container("check", gpus=8)
    ]

    assert violations(checked, queue("16"), node_pool(64)) == []
    assert alone(checked, 16) == []


def of_settings(manifest: Resource) -> list[str]:
    assert RULE.predicate is not None
    known = Queue(name="research", gpus=16, weight=4)
    return RULE.predicate(manifest, {KEY: {"pools": [], "queues": [known]}})


def with_spec(**spec: object) -> Resource:
    found = queue()
    found["spec"] = {"weight": 4, **found["spec"], **spec}
    return found


def test_a_queue_within_its_settings_passes() -> None:
    assert of_settings(with_spec()) == []
    assert of_settings(with_spec(capability={"nvidia.com/gpu": 8}, guarantee={})) == []
    assert of_settings(queue("512", name="other")) == []


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"capability": {"nvidia.com/gpu": "512"}}, "at most the 16 GPUs of its settings"),
        ({"capability": {"cpu": "9"}}, "spec.capability['nvidia.com/gpu']; it has none."),
        ({"deserved": {"nvidia.com/gpu": "17"}}, "spec.deserved['nvidia.com/gpu']; it has 17."),
        ({"weight": 400}, "the weight 4 of its settings in spec.weight; it has 400."),
        ({"weight": None}, "the weight 4 of its settings in spec.weight; it has 1."),
        ({"guarantee": {"resource": {"nvidia.com/gpu": "8"}}}, "must not have spec.guarantee"),
        ({"priority": 9}, "must not have spec.priority"),
    ],
)
def test_a_queue_has_no_more_than_its_settings(spec: Any, says: str) -> None:
    (sentence,) = of_settings(with_spec(**spec))
    assert says in sentence


def test_a_group_of_several_says_what_it_asks_for() -> None:
    def group(**spec: object) -> Resource:
        found = pod_group("0")
        found["spec"] = spec
        return found

    (sentence,) = alone(group(minMember=64), 16)
    assert "must have spec.minResources['nvidia.com/gpu'] for its 64 pods" in sentence
    assert alone(group(minMember=64, minResources={"cpu": "64"}), 16) == []
    assert alone(group(minMember=1), 16) == []
    asked = {"requests.nvidia.com/gpu": "24"}
    assert "it asks for 24 at once." in alone(group(minMember=3, minResources=asked), 16)[0]
