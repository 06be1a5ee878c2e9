"""Rules that look across a stack, as the engine calls their policies."""

from collections.abc import Sequence

import pytest
from pulumi_policy import PolicyResource
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, unknown_checking_proxy

from policies.gates.plan import policies
from policies.language.manifest import at, describe
from policies.language.rule import Manifest, Rule, Settings
from tests.support.policies.engine_calls import (
    TODAY,
    heard,
    heard_of_stack,
    look_at_data,
    stack_resource,
)


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


def test_the_first_of_many_is_the_same_one_in_whatever_order_they_come() -> None:
    def first(manifest: Manifest, _settings: Settings, stack: Sequence[Manifest]) -> list[str]:
        return [f"{describe(manifest)} is the first."] if manifest is stack[0] else []

    rules = (Rule(id="a/first", sentence="No x.", why="So.", source="https://a", across=first),)
    *_single, stack, _leftovers = policies(rules, today=lambda: TODAY)
    resources = [stack_resource(name, {}) for name in ("b", "a", "c")]

    assert [urn for urn, _text in heard_of_stack(stack, resources, {})] == ["urn:a"]


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
