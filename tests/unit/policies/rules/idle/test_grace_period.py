"""How long a pod has for the checkpoint that it declares."""

import pytest

from policies.rules.idle.grace_period import RULE
from tests.support.policies.asked import annotated, said
from tests.support.policies.gpu_pods import KINDS, container, gpu_container, pod

SHORT = (
    "Pod 'p' must have terminationGracePeriodSeconds of at least its annotation "
    "fleet.gpu/checkpoint-seconds."
)


def test_a_pod_that_is_killed_in_its_checkpoint_is_refused() -> None:
    cut = annotated(pod(container(), terminationGracePeriodSeconds=89), checkpoint_seconds="90")

    assert said(RULE, cut) == [SHORT]


def test_a_pod_with_as_many_seconds_as_it_needs_passes() -> None:
    kept = annotated(pod(container(), terminationGracePeriodSeconds=90), checkpoint_seconds="90")

    assert said(RULE, kept) == []


@pytest.mark.parametrize(("seconds", "fits"), [("30", True), ("31", False)])
def test_half_a_minute_is_what_kubernetes_gives_unasked(seconds: str, fits: bool) -> None:
    assert (said(RULE, annotated(pod(container()), checkpoint_seconds=seconds)) == []) is fits


@pytest.mark.parametrize("seconds", ["", "0", "-5", "1m", "1.5", "soon", "٣"])
def test_an_annotation_that_is_no_number_of_seconds_is_refused(seconds: str) -> None:
    (sentence,) = said(RULE, annotated(pod(container()), checkpoint_seconds=seconds))

    assert sentence.endswith("checkpoint-seconds a whole number of seconds, 1 or more.")


@pytest.mark.parametrize("kind", KINDS)
def test_a_pod_that_declares_no_checkpoint_has_the_time_it_likes(kind: str) -> None:
    assert said(RULE, KINDS[kind]({"containers": [gpu_container()]})) == []


def test_a_grace_period_of_null_is_none_at_all() -> None:
    said_null = pod(container(), terminationGracePeriodSeconds=None)

    assert said(RULE, annotated(said_null, checkpoint_seconds="30")) == []
    assert said(RULE, annotated(said_null, checkpoint_seconds="31")) == [SHORT]
