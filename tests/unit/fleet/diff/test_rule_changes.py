"""How the verdicts of rules on two versions differ."""

import pytest

from fleet.diff.rules import RuleChange, rule_changes
from policies.configuration import configure
from policies.rules.idle import gpu_node_pool
from policies.verdicts import Finding, Resource, State, Verdict, verdicts

RULE = gpu_node_pool.RULE.id
CONFIGURED = [each for each in configure({}) if each.rule.id == RULE]


def judged(state: State, *names: str) -> tuple[Verdict, ...]:
    found = [
        Finding(
            rule=RULE,
            level="advisory" if state == "advisory" else "mandatory",
            state=state,
            resource=Resource(kind="NodePool", name=name),
            sentences=(f"{name} is wrong.",),
            pool="p0",
            keys=("pools.{pool}.gpu_limits",),
        )
        for name in names
    ]
    return verdicts(CONFIGURED, found)


HELD = judged("held")
OFF = verdicts(configure({RULE: {"level": "disabled"}}), [])


def change(before: tuple[Verdict, ...], after: tuple[Verdict, ...]) -> RuleChange | None:
    found = [each for each in rule_changes(before, after, {"p0": "burst"}) if each.rule == RULE]
    return found[0] if found else None


def kind(before: tuple[Verdict, ...], after: tuple[Verdict, ...]) -> str | None:
    found = change(before, after)
    return None if found is None else found.kind


def test_a_rule_that_held_is_broken_with_its_sentences_and_keys() -> None:
    found = change(HELD, judged("violated", "a"))
    assert found is not None
    assert (found.kind, found.sentences) == ("broken", ("a is wrong.",))
    assert found.keys == ("gpu-fleet:pools.burst.gpu_limits",)


def test_one_more_resource_breaks_a_rule_and_is_told_alone() -> None:
    found = change(judged("violated", "a"), judged("violated", "a", "b"))
    assert found is not None
    assert (found.kind, found.sentences) == ("broken", ("b is wrong.",))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (HELD, HELD, None),
        (HELD, judged("not checked", "a"), None),
        (HELD, judged("advisory", "a"), "warned"),
        (judged("advisory", "a"), judged("advisory", "a"), None),
        (judged("advisory", "a"), judged("violated", "a"), "broken"),
        (judged("violated", "a"), judged("violated", "b"), "still broken"),
        (judged("violated", "a", "b"), judged("violated", "a"), "still broken"),
        (judged("violated", "a"), HELD, "mended"),
        (judged("advisory", "a"), HELD, "mended"),
        (judged("violated", "a"), judged("exempt", "a"), "changed"),
        (judged("violated", "a"), OFF, "changed"),
        (HELD, OFF, "changed"),
        (OFF, HELD, "changed"),
    ],
)
def test_a_verdict_before_and_after(
    before: tuple[Verdict, ...], after: tuple[Verdict, ...], expected: str | None
) -> None:
    assert kind(before, after) == expected


def test_without_another_version_each_rule_held() -> None:
    assert kind((), judged("violated", "a")) == "broken"
    assert kind((), HELD) is None
