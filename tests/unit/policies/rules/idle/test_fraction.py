"""Pods that use a part of a GPU, and what they ask for."""

import pytest

from policies.rules.idle.fraction import RULE
from tests.support.policies.asked import annotated, said
from tests.support.policies.gpu_pods import container, gpu_container, pod
from tests.support.rule_facts import of, pool

WHOLE = (
    "Pod 'p' must ask for a MIG device or a time-slice, not for a whole GPU, of which it uses a "
    "part by its annotation fleet.gpu/gpu-fraction."
)


@pytest.mark.parametrize("part", ["0.25", "0.5", "0.0001"])
def test_a_whole_gpu_for_a_part_of_its_work_is_refused(part: str) -> None:
    assert said(RULE, annotated(pod(gpu_container()), gpu_fraction=part)) == [WHOLE]


@pytest.mark.parametrize("part", ["0.51", "1", "1.0"])
def test_a_gpu_that_is_used_for_the_most_part_passes(part: str) -> None:
    assert said(RULE, annotated(pod(gpu_container()), gpu_fraction=part)) == []


def test_the_part_for_which_a_whole_gpu_is_refused_is_a_setting() -> None:
    quarter = annotated(pod(gpu_container()), gpu_fraction="0.25")

    assert said(RULE, quarter, max_fraction=0.2) == []
    assert said(RULE, quarter, max_fraction=0.25) == [WHOLE]


@pytest.mark.parametrize("mode", ["time-slicing", "mps", "mig"])
def test_a_slice_of_a_shared_gpu_passes(mode: str) -> None:
    sliced = pod(gpu_container(), nodeSelector={"fleet.gpu/sharing": mode})

    assert said(RULE, annotated(sliced, gpu_fraction="0.25")) == []


def test_a_node_that_shares_nothing_hands_out_whole_gpus() -> None:
    whole = pod(gpu_container(), nodeSelector={"fleet.gpu/sharing": "whole"})

    assert said(RULE, annotated(whole, gpu_fraction="0.25")) == [WHOLE]


def test_a_pool_that_is_known_to_share_its_gpus_passes() -> None:
    found = annotated(
        pod(gpu_container(), nodeSelector={"fleet.gpu/pool": "slices"}), gpu_fraction="0.25"
    )

    assert said(RULE, found, facts=of(pool("slices", shares_gpus=True))) == []
    assert said(RULE, found, facts=of(pool("others", shares_gpus=True))) == [WHOLE]


def test_a_mig_device_is_a_part() -> None:
    instance = container(limits={"nvidia.com/mig-1g.18gb": 1})

    assert said(RULE, annotated(pod(instance), gpu_fraction="0.25")) == []


@pytest.mark.parametrize("part", ["", "0", "0.0", "2", "1.1", "-0.5", "1/4", ".5", "half", "1e-1"])
def test_an_annotation_that_is_no_part_of_a_gpu_is_refused_on_every_pool(part: str) -> None:
    sliced = pod(gpu_container(), nodeSelector={"fleet.gpu/sharing": "mps"})

    (sentence,) = said(RULE, annotated(sliced, gpu_fraction=part))

    assert sentence.endswith("a number above 0 and at most 1, such as 0.25.")


def test_a_pod_that_declares_nothing_is_not_judged() -> None:
    assert said(RULE, pod(gpu_container())) == []
