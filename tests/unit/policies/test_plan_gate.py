"""The dispatching policy, called as the engine calls it and with the SDK's own proxies."""

from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest
from pulumi_policy import PolicyResource, ResourceValidationArgs, StackValidationArgs
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, unknown_checking_proxy

from policies.gates.plan import ADVISORY_POLICY, POLICY, pack_config, policies
from policies.rules import ALL, idle_gpu_node_pool
from policies.rules.manifest import at, describe
from policies.rules.rule import Manifest, Rule, Settings
from tests.unit.policies.node_pools import ABSENT, node_pool

HELD = idle_gpu_node_pool.RULE
RULE = HELD.id
AFTER = "spec.disruption.consolidateAfter"
TODAY = date(2026, 11, 21)


def told(
    props: dict[str, Any],
    settings: dict[str, dict[str, object]] | None = None,
    rules: tuple[Rule, ...] = ALL,
    resource_type: str = "kubernetes:karpenter.sh/v1:NodePool",
) -> dict[str, list[str]]:
    """Hands one resource to the policies of the pack, in their order; returns what they say."""
    said: dict[str, list[str]] = {}
    config: Any = pack_config(settings or {})[POLICY]
    for policy in policies(rules, today=lambda: TODAY)[:2]:  # those of single resources
        said[policy.name] = heard(policy, props, config, resource_type)
    return said


def heard(
    policy: Any,
    props: dict[str, Any],
    config: dict[str, Any],
    resource_type: str = "kubernetes:karpenter.sh/v1:NodePool",
    urn: str = "urn:pulumi:dev::gpu-fleet::type::pulumi-name",
) -> list[str]:
    """Calls one policy as the SDK does for one resource; returns its messages."""
    messages: list[str] = []
    arguments = ResourceValidationArgs(
        resource_type=resource_type,
        props=unknown_checking_proxy(props),
        urn=urn,
        name="pulumi-name",
        opts=None,  # type: ignore[arg-type]  # no rule reads resource options
        provider=None,
        config=config,
    )
    policy.validate(arguments, lambda message, _urn: messages.append(message))
    return messages


def stack_resource(name: str, props: dict[str, Any]) -> PolicyResource:
    """A ConfigMap among the resources of a stack."""
    whole = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, **props}
    return PolicyResource(
        resource_type="kubernetes:core/v1:ConfigMap",
        props=unknown_checking_proxy(whole),
        urn=f"urn:{name}",
        name=name,
        opts=None,  # type: ignore[arg-type]  # no rule reads resource options
        provider=None,
        parent=None,
        dependencies=[],
        property_dependencies={},
    )


def heard_of_stack(
    policy: Any, resources: list[PolicyResource], config: dict[str, Any]
) -> list[tuple[str, str]]:
    """Calls a stack policy as the SDK does; returns its messages, each with its resource's URN."""
    messages: list[tuple[str, str]] = []
    arguments = StackValidationArgs(
        resources=resources,
        stack_tags={},
        config=config,
    )
    policy.validate(arguments, lambda message, urn: messages.append((urn, message)))
    return messages


def rule(rule_id: str, predicate: Any, level: Any = "mandatory") -> Rule:
    return Rule(
        id=rule_id,
        sentence=f"Every object must keep {rule_id}.",
        why="It is so.",
        source="https://example.org/why",
        level=level,
        predicate=predicate,
    )


def refuse(manifest: Manifest, _settings: Settings) -> list[str]:
    return [f"{describe(manifest)} must not be."]


def throw(_manifest: Manifest, _settings: Settings) -> list[str]:
    raise ValueError("hunter2")


def look_at_data(manifest: Manifest, _settings: Settings) -> list[str]:
    return [f"{describe(manifest)} must not say x."] if at(manifest, "data", "a") == "x" else []


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
    assert "at test_plan_gate.py:" in said[0]
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
def test_what_is_no_kubernetes_object_is_read_by_its_type_name_and_inputs(
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


def test_a_rule_across_the_stack_sees_every_resource_and_tells_of_each_one_its_own() -> None:
    def twins(manifest: Manifest, _settings: Settings, stack: Sequence[Manifest]) -> list[str]:
        same = [each for each in stack if at(each, "data", "a") == at(manifest, "data", "a")]
        return [f"{describe(manifest)} must be alone."] if len(same) > 1 else []

    rules = (Rule(id="a/twins", sentence="No twins.", why="So.", source="https://a", across=twins),)
    *_single, stack, leftovers = policies(rules, today=lambda: TODAY)
    resources = [
        stack_resource("one", {"data": {"a": "x"}}),
        stack_resource("two", {"data": {"a": "x"}}),
        stack_resource("three", {"data": {"a": "y"}}),
    ]

    told_of = heard_of_stack(stack, resources, {})

    assert [(urn, text.splitlines()[0]) for urn, text in told_of] == [
        ("urn:one", "a/twins: ConfigMap 'one' must be alone."),
        ("urn:two", "a/twins: ConfigMap 'two' must be alone."),
    ]
    assert heard_of_stack(leftovers, resources, {}) == []
    told_softly = {"a/twins": {"level": "advisory"}}
    assert heard_of_stack(stack, resources, told_softly) == []
    assert len(heard_of_stack(leftovers, resources, told_softly)) == 2


def test_an_unknown_that_a_rule_across_the_stack_reads_holds_up_that_resource_alone() -> None:
    def look(manifest: Manifest, _settings: Settings, _stack: Sequence[Manifest]) -> list[str]:
        return look_at_data(manifest, {})

    rules = (Rule(id="a/look", sentence="No x.", why="So.", source="https://a", across=look),)
    *_single, stack, leftovers = policies(rules, today=lambda: TODAY)
    resources = [
        stack_resource("new", {"data": {"a": UNKNOWN_STRING_VALUE}}),
        stack_resource("bad", {"data": {"a": "x"}}),
    ]

    assert [urn for urn, _text in heard_of_stack(stack, resources, {})] == ["urn:bad"]
    ((urn, text),) = heard_of_stack(leftovers, resources, {})
    assert urn == "urn:new"
    assert "not checked until up, because data.a is not known" in text


def test_what_was_said_of_one_resource_is_not_said_again_of_the_next() -> None:
    first, second = policies(ALL, today=lambda: TODAY)[:2]
    config = {RULE: {"level": "advisory"}}
    bad, good = node_pool(AFTER, "60m"), node_pool()

    said = [
        [*heard(first, pool, config, urn=urn), *heard(second, pool, config, urn=urn)]
        for urn, pool in (("urn:1", bad), ("urn:1", good), ("urn:2", good))
    ]

    assert [len(messages) for messages in said] == [1, 0, 0]
    assert heard(second, bad, config, urn="urn:1") == []


@pytest.mark.parametrize("kind", ["gpu:pools:BareMetalPool", "hcloud:index/server:Server"])
def test_rules_that_look_across_see_inputs_and_no_outputs(kind: str) -> None:
    seen: list[object] = []

    def look(manifest: Manifest, _settings: Settings, stack: Sequence[Manifest]) -> list[str]:
        seen.append(at(manifest, "spec"))
        return []

    each = Rule(
        id="numa/across",
        sentence="It must be so.",
        why="So.",
        source="https://example.org/why",
        across=look,
    )
    resource, _, stack, _ = policies((each,), today=lambda: TODAY)
    urn = "urn:one"
    outputs = PolicyResource(
        resource_type=kind,
        props=unknown_checking_proxy({"nodeNames": ["dgx-01"]}),
        urn=urn,
        name="dgx",
        opts=None,  # type: ignore[arg-type]  # no rule reads resource options
        provider=None,
        parent=None,
        dependencies=[],
        property_dependencies={},
    )

    heard(resource, {"ignition": "{}"}, {}, kind, urn)
    heard_of_stack(stack, [outputs], {})

    assert seen == [{"ignition": "{}"}]
