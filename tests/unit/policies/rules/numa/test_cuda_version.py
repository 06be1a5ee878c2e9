"""The rule on pods that declare the CUDA of their images."""

from typing import Any

import pytest

from policies.rules.numa.cuda_version import RULE
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

DECLARED = "fleet.gpu/cuda"
POOLS = (pool(driver=570, newest_cuda=12), pool("new", driver=580, newest_cuda=13))


def of_cuda(version: object, **spec: Any) -> Object:
    return annotated(pod(gpu_container(), **spec), {DECLARED: version})


@pytest.mark.parametrize("version", ["12.8", "12", "11.8", "12.9.1", "12.0"])
def test_a_cuda_that_the_driver_runs_passes(version: str) -> None:
    assert told(RULE, of_cuda(version, **on("dgx")), *POOLS) == []


@pytest.mark.parametrize("version", ["13.0", "13", "14.1"])
def test_a_newer_major_than_the_driver_runs_is_refused(version: str) -> None:
    assert told(RULE, of_cuda(version, **on("dgx")), *POOLS) == [
        "Pod 'p' must have an image of CUDA 12 or older for driver 570 of pool 'dgx'."
    ]


def test_without_a_pool_one_whose_driver_runs_it_is_enough() -> None:
    assert told(RULE, of_cuda("13.0"), *POOLS) == []
    (said,) = told(RULE, of_cuda("14.0"), *POOLS)
    assert said.endswith(
        "driver 570 of pool 'dgx' or CUDA 13 or older for driver 580 of pool 'new'."
    )


@pytest.mark.parametrize("version", ["", "cu128", "v12.8", "12.8 ", "0.9", "12.", "1280"])
def test_an_annotation_that_is_no_cuda_version_is_refused(version: str) -> None:
    said = [f"Pod 'p' must have a version such as 12.8 in its annotation {DECLARED}."]

    assert told(RULE, of_cuda(version, **on("dgx")), *POOLS) == said
    assert told(RULE, of_cuda(version)) == said


@pytest.mark.parametrize("kind", KINDS)
def test_a_pod_that_declares_no_cuda_version_passes(kind: str) -> None:
    assert told(RULE, KINDS[kind]({"containers": [gpu_container()], **on("dgx")}), *POOLS) == []


def test_a_pod_without_gpus_or_on_no_known_pool_passes() -> None:
    without = annotated(pod(container(), **on("dgx")), {DECLARED: "13.0"})

    assert told(RULE, without, *POOLS) == []
    assert told(RULE, of_cuda("13.0", **on("elsewhere")), *POOLS) == []
