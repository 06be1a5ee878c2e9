"""Capacity that is kept for work to come."""

import pytest

from policies.rules.idle.keep_warm import RULE
from tests.support.policies.asked import Resource, annotated, running, said, said_in
from tests.support.policies.gpu_pods import KINDS, container, gpu_container

GOOD = {
    "keep_warm_schedule": "mon-fri 08:00-18:00 Europe/Berlin",
    "keep_warm_usd_per_day": "300",
    "keep_warm_until": "2027-01-31",
}


def buffer(name: str = "eight", **says: str) -> Resource:
    found = {"kind": "CapacityBuffer", "metadata": {"name": name}, "spec": {"replicas": 2}}
    return annotated(found, **says)


def paused(image: str, kind: str = "Deployment") -> Resource:
    return KINDS[kind]({"containers": [{**gpu_container(), "image": image}]})


def test_a_buffer_with_hours_a_budget_and_a_last_day_passes() -> None:
    assert said(RULE, buffer(**GOOD)) == []


def test_a_buffer_of_no_pods_keeps_nothing() -> None:
    none: Resource = {"kind": "CapacityBuffer", "metadata": {"name": "none"}}
    assert said(RULE, {**none, "spec": {"replicas": 0}}) == []
    assert said(RULE, {**none, "spec": {"replicas": 0, "percentage": 50}})
    assert said(RULE, {**none, "spec": {"limits": {"nvidia.com/gpu": "8"}}})


def test_a_buffer_that_says_nothing_lacks_all_three() -> None:
    assert said(RULE, buffer()) == [
        (
            "CapacityBuffer 'eight' must say when it is kept warm by the annotation "
            "fleet.gpu/keep-warm-schedule, such as mon-fri 08:00-18:00 Europe/Berlin."
        ),
        (
            "CapacityBuffer 'eight' must have the annotation fleet.gpu/keep-warm-usd-per-day, a "
            "whole number of at most 500."
        ),
        (
            "CapacityBuffer 'eight' must say by the annotation fleet.gpu/keep-warm-until its last "
            "day, such as 2027-01-31."
        ),
    ]


def test_paused_pods_may_say_it_in_their_template() -> None:
    found = paused("registry.k8s.io/pause:3.10")
    own = {f"fleet.gpu/{name.replace('_', '-')}": value for name, value in GOOD.items()}
    found["spec"]["template"]["metadata"] = {"annotations": own}

    assert said(RULE, found) == []
    assert len(said(RULE, annotated(found, keep_warm_usd_per_day="1e9"))) == 1


@pytest.mark.parametrize("key", GOOD)
def test_each_of_the_three_is_asked_for(key: str) -> None:
    (sentence,) = said(RULE, buffer(**{name: said for name, said in GOOD.items() if name != key}))

    assert f"fleet.gpu/{key.replace('_', '-')}" in sentence


@pytest.mark.parametrize("when", ["sat 00:00-24:00", "mon-fri 08:30-18:00", "sun 09:00-12:00 UTC"])
def test_hours_of_days_are_a_schedule(when: str) -> None:
    assert said(RULE, buffer(**{**GOOD, "keep_warm_schedule": when})) == []


@pytest.mark.parametrize("when", ["always", "mon-fri", "mon-fri 8-18", "mon 08:00-25:00", "08:00"])
def test_a_schedule_without_days_and_hours_is_refused(when: str) -> None:
    assert len(said(RULE, buffer(**{**GOOD, "keep_warm_schedule": when}))) == 1


@pytest.mark.parametrize(("usd", "kept"), [("500", True), ("501", False), ("0", False)])
def test_the_budget_has_a_bound(usd: str, kept: bool) -> None:
    assert (said(RULE, buffer(**{**GOOD, "keep_warm_usd_per_day": usd})) == []) is kept


def test_a_last_day_that_is_over_is_told() -> None:
    (sentence,) = said(RULE, buffer(**{**GOOD, "keep_warm_until": "2026-11-20"}))

    assert sentence.endswith("its last day, by fleet.gpu/keep-warm-until, was 2026-11-20.")
    assert said(RULE, buffer(**{**GOOD, "keep_warm_until": "2026-11-21"})) == []


@pytest.mark.parametrize("kind", KINDS)
def test_pods_that_hold_gpus_and_pause_are_kept_warm_in_every_kind(kind: str) -> None:
    placeholder = paused("registry.k8s.io/pause:3.10", kind)

    assert len(said(RULE, placeholder)) == 3
    assert said(RULE, annotated(placeholder, **GOOD)) == []


@pytest.mark.parametrize("image", ["pause", "gcr.io/pause-amd64:3.1", "a.example/b/pause@sha256:0"])
def test_a_pause_image_is_known_by_its_name(image: str) -> None:
    assert len(said(RULE, paused(image))) == 3


@pytest.mark.parametrize("image", ["pauses/train:1", "a.example/pausemaker", "train:pause"])
def test_work_is_not_kept_warm(image: str) -> None:
    assert said(RULE, paused(image)) == []


def test_a_pause_without_gpus_holds_nothing() -> None:
    idle = KINDS["Deployment"]({"containers": [{**container(), "image": "pause"}]})

    assert said(RULE, idle) == []


def test_all_reserves_together_keep_within_the_budget() -> None:
    both = [buffer("a", **GOOD), {"kind": "Namespace"}, buffer("b", **GOOD)]

    assert said_in(RULE, both) == [
        (
            "CapacityBuffer 'a' must be one of reserves that are kept warm for at most 500 USD a "
            "day; together they say 600."
        )
    ]
    assert said_in(RULE, both, usd_per_day=600) == []
    assert said_in(RULE, both[:2]) == []


@pytest.mark.parametrize(
    ("words", "pauses"),
    [
        (("sleep", "infinity"), True),
        (("/bin/sleep", "inf"), True),
        (("bash", "-c", "sleep infinity"), True),
        (("tail", "-f", "/dev/null"), True),
        (("sh", "-c", "python train.py; sleep infinity"), False),
        (("python", "sleep.py"), False),
        (("/agnhost", "pause"), True),
        (("/pause",), True),
        (("pause",), False),
    ],
)
def test_a_program_that_waits_for_ever_holds_its_gpus_as_a_pause_does(
    words: tuple[str, ...], pauses: bool
) -> None:
    found = KINDS["Deployment"]({"containers": [running(gpu_container(), *words)]})

    assert bool(said(RULE, found)) is pauses


@pytest.mark.parametrize("part", ["args", "command"])
def test_the_test_image_of_kubernetes_pauses_where_it_is_told_nothing_else(part: str) -> None:
    image = "registry.k8s.io/e2e-test-images/agnhost:2.53"
    found = {**gpu_container(), "image": image}

    for pauses in ({}, {part: ["pause"]}, {part: ["/agnhost", "pause"]}):
        assert said(RULE, KINDS["Job"]({"containers": [{**found, **pauses}]}))
    serving = {**found, part: ["netexec"]}
    assert said(RULE, KINDS["Job"]({"containers": [serving]})) == []
    other = {**found, "image": "a.example/agnhost-player:1", part: ["pause"]}
    assert said(RULE, KINDS["Job"]({"containers": [other]})) == []


def test_the_pods_of_a_reserve_say_nothing_again() -> None:
    found = paused("registry.k8s.io/pause:3.10", "Pod")
    assert said(RULE, found)

    found["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "p-1"}
    ]
    assert said(RULE, found) == []
