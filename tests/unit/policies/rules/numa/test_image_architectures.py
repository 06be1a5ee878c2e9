"""The rule on pods that declare what their images were built for."""

from typing import Any

import pytest

from policies.rules.numa.image_architectures import RULE
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

DECLARED = "fleet.gpu/cuda-architectures"
POOLS = (
    pool(architecture="sm_90", runs=["sm_90", "sm_90a", "compute_80", "compute_90"]),
    pool("ada", architecture="sm_89", runs=["sm_86", "sm_89", "compute_80"]),
)
FORM = f"Pod 'p' must have architectures such as sm_90,compute_90 in its annotation {DECLARED}."


def built_for(architectures: object, **spec: Any) -> Object:
    return annotated(pod(gpu_container(), **spec), {DECLARED: architectures})


@pytest.mark.parametrize("declared", ["sm_90", "sm_80,sm_90a", "compute_80", "sm_70,compute_90"])
def test_one_architecture_that_runs_is_enough(declared: str) -> None:
    assert told(RULE, built_for(declared, **on("dgx")), *POOLS) == []


@pytest.mark.parametrize("declared", ["sm_80", "sm_100,compute_100", "compute_90a,sm_90f"])
def test_an_image_without_code_for_the_gpu_is_refused(declared: str) -> None:
    said = told(RULE, built_for(declared, **on("dgx")), *POOLS)

    assert said == ["Pod 'p' must have an image with code for sm_90 of pool 'dgx'."]


def test_without_a_pool_any_that_runs_it_is_enough() -> None:
    assert told(RULE, built_for("sm_86"), *POOLS) == []
    assert told(RULE, built_for("sm_75"), *POOLS) == [
        "Pod 'p' must have an image with code for sm_90 of pool 'dgx' or sm_89 of pool 'ada'."
    ]


@pytest.mark.parametrize(
    "declared", ["", "90", "sm90", "sm_90;sm_80", "sm_9", "sm_90, sm_80", "SM_90", 90]
)
def test_an_architecture_that_nvcc_does_not_know_is_refused(declared: object) -> None:
    assert told(RULE, built_for(declared), *POOLS) == [FORM]
    assert told(RULE, built_for(declared)) == [FORM]


@pytest.mark.parametrize("kind", KINDS)
def test_a_pod_that_declares_no_architectures_passes(kind: str) -> None:
    assert told(RULE, KINDS[kind]({"containers": [gpu_container()], **on("dgx")}), *POOLS) == []


def test_a_pod_without_gpus_or_on_no_known_pool_passes() -> None:
    without = annotated(pod(container(), **on("dgx")), {DECLARED: "sm_80"})

    assert told(RULE, without, *POOLS) == []
    assert told(RULE, built_for("sm_75", **on("elsewhere")), *POOLS) == []
