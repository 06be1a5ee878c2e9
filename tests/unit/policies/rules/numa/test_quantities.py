"""A quantity that nobody can read is told once, by one rule, in words."""

from datetime import date
from typing import Any

import pytest

from policies.configuration import configure
from policies.gates.judging import findings
from policies.gates.unknown import NotKnownYet, Unknown
from policies.rules import ALL
from policies.rules.numa import memory_limit
from policies.rules.numa.quantities import RULE
from policies.verdicts import Resource
from tests.support.policies.gpu_pods import KINDS, container, gpu_container, pod, told


@pytest.mark.parametrize(
    "value", ["$GPU_PER_NODE", "${GPUS}", "{{ .Values.gpus }}", "<gpus>", "PLACEHOLDER_GPUS"]
)
def test_a_placeholder_is_told_as_one(value: str) -> None:
    (said,) = told(RULE, KINDS["Workflow"]({"containers": [gpu_container(gpus=value)]}))

    assert said == (
        f"Workflow 'p', 'step' must have a quantity as nvidia.com/gpu: the placeholder '{value}' "
        "was not filled in."
    )


@pytest.mark.parametrize(
    ("value", "must"),
    [
        ("8 Gi", "must have a quantity such as 8 or 64Gi as memory, not '8 Gi'."),
        ([8], "must have a quantity such as 8 or 64Gi as memory."),
        (None, "must have a quantity as memory: nothing stands there, which gives none."),
        (True, "must have a quantity such as 8 or 64Gi as memory."),
    ],
)
def test_what_is_no_quantity_is_told_with_one_that_is(value: object, must: str) -> None:
    assert told(RULE, pod(gpu_container(memory=value))) == [f"Pod 'p' {must}"]


def test_the_same_mistake_of_limits_and_requests_is_told_once_and_two_twice() -> None:
    both = container(limits={"cpu": "$N"}, requests={"cpu": "$N"})
    two = container(limits={"cpu": "$N", "memory": "$M"})

    assert len(told(RULE, pod(both))) == 1
    assert len(told(RULE, pod(two))) == 2
    assert len(told(RULE, pod(container(), resources={"limits": {"cpu": "$N"}}))) == 1


def test_quantities_pass_with_or_without_gpus() -> None:
    assert told(RULE, pod(gpu_container(cpu="8000m", memory=1.5))) == []
    assert told(RULE, pod(container())) == []


@pytest.mark.parametrize("resource", ["nvidia.com/gpu", "cpu", "memory", "hugepages-1Gi"])
def test_no_other_rule_speaks_of_what_cannot_be_counted(resource: str) -> None:
    spec: dict[str, Any] = {"limits": {"nvidia.com/gpu": 8, "cpu": 8, "memory": "64Gi"}}
    spec["limits"][resource] = "$SOME"
    manifest = KINDS["PyTorchJob"]({"containers": [container(**spec, command=["torchrun", "t"])]})
    found = findings(
        manifest,
        configure({}, [rule for rule in ALL if rule.predicate]),
        resource=Resource(kind="PyTorchJob", name="p"),
        today=date(2026, 11, 21),
    )

    said = {each.rule for each in found for sentence in each.sentences if "quantity" in sentence}
    assert said == {RULE.id}


def test_gpus_without_a_number_are_none_and_are_told_as_nothing_else() -> None:
    bare = container(limits={"nvidia.com/gpu": None}, requests={"nvidia.com/gpu": None})
    manifest = KINDS["PyTorchJob"]({"containers": [bare]})
    found = findings(
        manifest,
        configure({}),
        resource=Resource(kind="PyTorchJob", name="p"),
        today=date(2026, 11, 21),
    )

    assert [each.rule for each in found if each.rule != "isolation/image-digest"] == [RULE.id]


def test_a_quantity_that_is_not_known_yet_keeps_no_rule_from_judging_the_rest() -> None:
    unlimited = pod(container(limits={"nvidia.com/gpu": 1, "cpu": Unknown("cpu")}))

    with pytest.raises(NotKnownYet):
        told(RULE, unlimited)
    assert told(memory_limit.RULE, unlimited) != []
