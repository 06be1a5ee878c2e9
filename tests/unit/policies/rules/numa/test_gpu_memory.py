"""The rule on pods that declare the GPU memory which they need."""

from typing import Any

import pytest

from policies.rules.numa.gpu_memory import RULE
from tests.support.policies.gpu_pods import (
    KINDS,
    Object,
    annotated,
    container,
    gpu_container,
    on,
    pod,
    told,
)
from tests.support.rule_facts import pool

DECLARED = "fleet.gpu/gpu-memory"
POOLS = (pool(gpu_memory_mib=144384), pool("slices", gpu_memory_mib=5120))
MIG = "nvidia.com/mig-"
LARGER = f"Pod 'p' must ask for MIG instances with the memory of its annotation {DECLARED} or more."


def needing(memory: object, *resources: str, **spec: Any) -> Object:
    asked = [container(f"c{index}", limits={name: 1}) for index, name in enumerate(resources)]
    return annotated(pod(*(asked or [gpu_container()]), **spec), {DECLARED: memory})


@pytest.mark.parametrize(
    ("memory", "profile", "fits"),
    [
        ("18G", "1g.18gb", True),
        ("16Gi", "1g.18gb", True),
        ("17Gi", "1g.18gb", False),
        ("18.1G", "1g.18gb", False),
        ("60Gi", "3g.71gb", True),
        ("18G", "1g.18gb.me", True),
        ("20G", "1g.18gb.me", False),
        ("140G", "7g.141gb", True),
        ("142G", "7g.141gb", False),
    ],
)
def test_a_model_fits_its_instance_or_is_refused(memory: str, profile: str, fits: bool) -> None:
    assert told(RULE, needing(memory, f"{MIG}{profile}"), *POOLS) == ([] if fits else [LARGER])
    assert told(RULE, needing(memory, f"{MIG}{profile}")) == ([] if fits else [LARGER])


def test_the_smallest_of_several_instances_decides() -> None:
    both = (f"{MIG}3g.71gb", f"{MIG}1g.18gb")

    assert told(RULE, needing("60Gi", *both)) == [LARGER]
    assert told(RULE, needing("10Gi", *both)) == []


def test_a_model_fits_the_gpu_of_its_pool_or_is_refused() -> None:
    assert told(RULE, needing("141Gi", **on("dgx")), *POOLS) == []
    assert told(RULE, needing("144385Mi", **on("dgx")), *POOLS) == [
        f"Pod 'p' must have in its annotation {DECLARED} at most 144384Mi for a GPU of pool 'dgx'."
    ]
    assert told(RULE, needing("6Gi", **on("slices")), *POOLS) == [
        f"Pod 'p' must have in its annotation {DECLARED} at most 5120Mi for a GPU of pool 'slices'."
    ]


def test_without_a_pool_one_whose_gpus_are_large_enough_will_do() -> None:
    assert told(RULE, needing("6Gi"), *POOLS) == []
    assert len(told(RULE, needing("1Ti"), *POOLS)) == 1
    assert told(RULE, needing("1Ti")) == []


@pytest.mark.parametrize("memory", ["", "much", "60GB", "0", "-1Gi", "60 Gi"])
def test_an_annotation_that_is_no_amount_of_memory_is_refused(memory: str) -> None:
    said = [f"Pod 'p' must have a quantity of memory such as 60Gi in its annotation {DECLARED}."]

    assert told(RULE, needing(memory, **on("dgx")), *POOLS) == said


@pytest.mark.parametrize("kind", KINDS)
def test_a_pod_that_declares_no_gpu_memory_passes(kind: str) -> None:
    assert told(RULE, KINDS[kind]({"containers": [gpu_container()], **on("slices")}), *POOLS) == []


def test_a_pod_without_gpus_or_on_no_known_pool_passes() -> None:
    without = annotated(pod(container(), **on("slices")), {DECLARED: "1Ti"})

    assert told(RULE, without, *POOLS) == []
    assert told(RULE, needing("18Gi", f"{MIG}unknown")) == []
