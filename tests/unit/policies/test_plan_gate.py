"""The dispatching policy of single resources, as the engine calls it."""

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE

from policies.gates.pack_config import POLICY
from policies.gates.plan import ADVISORY_POLICY, policies
from policies.language.rule import Manifest, Settings
from policies.rules import ALL
from tests.support.policies.engine_calls import (
    AFTER,
    HELD,
    RULE,
    TODAY,
    heard,
    heard_of_stack,
    look_at_data,
    refuse,
    rule,
    throw,
    told,
)
from tests.support.policies.node_pools import ABSENT, node_pool


def test_a_good_resource_is_met_with_silence() -> None:
    assert told(node_pool()) == {POLICY: [], ADVISORY_POLICY: []}


def test_a_violation_stops_and_tells_rule_resource_value_must_why_and_source() -> None:
    said = told(node_pool(AFTER, "60m"))

    (message,) = said[POLICY]
    assert message.startswith(f"{RULE}: NodePool 'burst' has {AFTER} 60m; it must be at most 15m.")
    assert message.endswith(f"{HELD.why} See {HELD.source}")
    assert said[ADVISORY_POLICY] == []


def test_all_that_breaks_a_rule_is_one_paragraph_with_one_reason() -> None:
    (message,) = told(node_pool("spec.disruption", {"consolidationPolicy": "Often"}))[POLICY]

    assert message.count(f"{RULE}: NodePool 'burst' ") == 2
    assert message.count(HELD.why) == 1


def test_numbers_that_arrive_as_floats_are_whole_again() -> None:
    assert told(node_pool("spec.limits", {"nvidia.com/gpu": 16.0}))[POLICY] == []
    (message,) = told(node_pool("spec.limits", {"nvidia.com/gpu": -1.0}))[POLICY]
    assert "'nvidia.com/gpu'] -1;" in message


def test_settings_of_the_environment_decide() -> None:
    pool = node_pool(AFTER, "60m")

    assert told(pool, {RULE: {"max_consolidate_after_minutes": 60}})[POLICY] == []
    assert "at most 59m" in told(pool, {RULE: {"max_consolidate_after_minutes": 59}})[POLICY][0]


def test_an_advisory_rule_warns_and_does_not_stop() -> None:
    said = told(node_pool(AFTER, "60m"), {RULE: {"level": "advisory"}})

    assert said[POLICY] == []
    assert "it must be at most 15m" in said[ADVISORY_POLICY][0]


def test_a_disabled_rule_says_nothing() -> None:
    said = told(node_pool(AFTER, "60m"), {RULE: {"level": "disabled"}})

    assert said == {POLICY: [], ADVISORY_POLICY: []}


@pytest.mark.parametrize(("until", "stops"), [("2026-11-21", False), ("2026-11-20", True)])
def test_an_exemption_holds_to_its_last_day_and_is_always_named(until: str, stops: bool) -> None:
    exemption = {"resource": "NodePool/burst", "owner": "desk", "reason": "warm-up", "until": until}

    said = told(node_pool(AFTER, "60m"), {RULE: {"exemptions": [exemption]}})

    assert [len(said[POLICY]), len(said[ADVISORY_POLICY])] == ([1, 0] if stops else [0, 1])
    state = "was exempt" if stops else "is exempt"
    assert f"It {state} until {until} (desk: warm-up)." in (said[POLICY] + said[ADVISORY_POLICY])[0]


@pytest.mark.parametrize(
    ("until", "level", "ends"),
    [
        ("2026-11-20", "mandatory", True),
        ("2026-11-20", "advisory", True),
        ("2026-11-20", "disabled", False),
        ("2026-11-21", "mandatory", False),
    ],
)
def test_an_exemption_that_has_ended_stops_also_where_nothing_needs_it(
    until: str, level: str, ends: bool
) -> None:
    exemption = {"resource": "NodePool/x", "owner": "desk", "reason": "warm-up", "until": until}
    *_single, stack, leftovers = policies(ALL, today=lambda: TODAY)

    config = {RULE: {"level": level, "exemptions": [exemption]}}
    told_of = heard_of_stack(stack, [], config)

    over = (
        f"{RULE}: the exemption of NodePool/x ended on 2026-11-20 (desk: warm-up); it must be "
        "removed, or given a later day."
    )
    assert [text for _urn, text in told_of] == ([over] if ends else [])
    assert heard_of_stack(leftovers, [], config) == []


def test_an_unknown_that_the_rule_reads_leaves_the_resource_unchecked_with_a_word() -> None:
    said = told(node_pool(AFTER, UNKNOWN_STRING_VALUE))

    assert said[POLICY] == []
    assert said[ADVISORY_POLICY] == [
        (
            f"{RULE}: NodePool 'pulumi-name' is not checked until up, because {AFTER} is not "
            "known at preview."
        )
    ]


def test_an_unknown_that_the_rule_does_not_read_blinds_nobody() -> None:
    pool = node_pool(AFTER, "60m")
    pool["spec"]["template"]["spec"]["terminationGracePeriod"] = UNKNOWN_STRING_VALUE

    assert len(told(pool)[POLICY]) == 1


def test_an_unknown_for_one_rule_leaves_the_others_at_work() -> None:
    rules = (rule("a/data", look_at_data), rule("a/refuse", refuse))

    said = told(
        {"kind": "Secret", "metadata": {"name": "s"}, "data": {"a": UNKNOWN_STRING_VALUE}},
        rules=rules,
    )

    assert [message.split(":")[0] for message in said[POLICY]] == ["a/refuse"]
    assert [message.split(":")[0] for message in said[ADVISORY_POLICY]] == ["a/data"]


def test_a_rule_that_throws_fails_closed_without_printing_what_it_threw() -> None:
    rules = (rule("a/throw", throw), rule("a/refuse", refuse))

    said = told({"kind": "Secret", "metadata": {"name": "s"}}, rules=rules)[POLICY]

    assert said[0].startswith("a/throw: the rule failed on NodePool 'pulumi-name' with ValueError")
    assert "at engine_calls.py:" in said[0]
    assert said[0].endswith("Every object must keep a/throw.")
    assert "hunter2" not in said[0]
    assert said[1].startswith("a/refuse: Secret 's' must not be.")


def test_an_advisory_rule_that_throws_is_told_and_does_not_stop() -> None:
    said = told({"kind": "Secret"}, rules=(rule("a/throw", throw, "advisory"),))

    assert said[POLICY] == []
    assert "ValueError" in said[ADVISORY_POLICY][0]


@pytest.mark.parametrize("name", [ABSENT, UNKNOWN_STRING_VALUE])
def test_an_object_that_has_no_name_yet_goes_by_its_pulumi_name(name: object) -> None:
    pool = node_pool("metadata.name", name)
    pool["spec"]["disruption"]["consolidateAfter"] = "60m"

    assert f"{RULE}: NodePool 'pulumi-name' has" in told(pool)[POLICY][0]


@pytest.mark.parametrize("resource_type", ["hcloud:index/server:Server", "gpu:pools:AwsGpuPool"])
def test_resources_of_other_providers_are_read_by_type_name_and_inputs(
    resource_type: str,
) -> None:
    seen: list[Manifest] = []

    def look(manifest: Manifest, _settings: Settings) -> list[str]:
        seen.append(manifest)
        return []

    told(
        {"kind": "NodePool", "size": 2.0},
        rules=(rule("a/look", look),),
        resource_type=resource_type,
    )

    named = {"name": "pulumi-name"}
    spec = {"kind": "NodePool", "size": 2}
    assert seen == [{"kind": resource_type, "metadata": named, "spec": spec}]


def test_findings_of_one_resource_are_not_repeated_for_the_next() -> None:
    first, second = policies(ALL, today=lambda: TODAY)[:2]
    config = {RULE: {"level": "advisory"}}
    bad, good = node_pool(AFTER, "60m"), node_pool()

    said = [
        [*heard(first, pool, config, urn=urn), *heard(second, pool, config, urn=urn)]
        for urn, pool in (("urn:1", bad), ("urn:1", good), ("urn:2", good))
    ]

    assert [len(messages) for messages in said] == [1, 0, 0]
    assert heard(second, bad, config, urn="urn:1") == []


def test_what_asks_for_gpus_and_cannot_be_judged_is_told_and_stops_nothing() -> None:
    resources = {"limits": {"nvidia.com/gpu": 8}}
    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "train"},
        "spec": {"trainer": {"resourcesPerNode": resources}, "activeDeadlineSeconds": 3600},
    }
    kind = "kubernetes:trainer.kubeflow.org/v1alpha1:TrainJob"

    said = told(job, resource_type=kind)

    assert said[POLICY] == []
    assert said[ADVISORY_POLICY] == [
        (
            "idle/job-deadline: TrainJob 'pulumi-name' asks for GPUs; not judged: the labels, CPUs "
            "and memory of its pods, which its runtime may give."
        )
    ]
    disabled: dict[str, dict[str, object]] = {"idle/job-deadline": {"level": "disabled"}}
    assert told(job, disabled, resource_type=kind)[ADVISORY_POLICY] == []


def test_nobody_vouches_at_preview_for_the_owner_of_a_pod() -> None:
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "controller": True}
    container = {
        "name": "main",
        "image": f"x@sha256:{'a' * 64}",
        "resources": {"limits": {"nvidia.com/gpu": 1, "cpu": 8, "memory": "64Gi"}},
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "ownerReferences": [reference]},
        "spec": {"containers": [container]},
    }

    said = told(pod, resource_type="kubernetes:core/v1:Pod")

    assert any(each.startswith("idle/job-deadline: Pod 'p' must have") for each in said[POLICY])
    unknown = {**pod, "metadata": {"name": "p", "ownerReferences": UNKNOWN_STRING_VALUE}}
    (waits,) = (
        each
        for each in told(unknown, resource_type="kubernetes:core/v1:Pod")[ADVISORY_POLICY]
        if each.startswith("idle/job-deadline")
    )
    assert "metadata.ownerReferences is not known at preview" in waits
