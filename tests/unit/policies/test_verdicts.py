"""Findings as data: from the rule that finds to the verdict that is shown."""

from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest

from policies.configuration import ConfiguredRule, configure
from policies.exemptions import exemption_statuses, expired
from policies.gates.judging import findings
from policies.language.rule import Manifest, Rule, Settings
from policies.verdicts import Finding, Resource, State, as_json, verdicts
from tests.support.policies.engine_calls import look_at_data, refuse, rule, throw

TODAY = date(2026, 11, 21)
RULE = "a/refuse"


def exemption(resource: str, owner: str = "desk", until: str = "2027-01-31") -> dict[str, str]:
    where = {"resource": resource, "namespace": "web"}
    return {**where, "owner": owner, "reason": "long", "until": until}


def judged(
    kind: str, name: str, *rules: Rule, said: dict[str, Any] | None = None
) -> tuple[tuple[ConfiguredRule, ...], list[Finding]]:
    """The rules as configured, and what they find of an object of a file."""
    asked = configure(said or {}, rules or (rule(RULE, refuse),))
    manifest = {"kind": kind, "metadata": {"name": name, "namespace": "web"}}
    resource = Resource(kind=kind, name=name, file="a.yaml", line=3)
    return asked, list(findings(manifest, asked, resource=resource, today=TODAY))


@pytest.mark.parametrize(
    ("kind", "owner", "other"),
    [("Job", "quant", "PyTorchJob"), ("PyTorchJob", "research", "Job")],
)
def test_of_two_exemptions_for_objects_of_one_name_that_of_the_kind_is_used(
    kind: str, owner: str, other: str
) -> None:
    both = [exemption("Job/train", "quant"), exemption("PyTorchJob/train", "research")]

    asked, found = judged(kind, "train", said={RULE: {"exemptions": both}})

    assert {one.resource: one.use for one in exemption_statuses(asked, found, TODAY)} == {
        f"{kind}/train in web": "used",
        f"{other}/train in web": "unused",
    }
    (finding,) = found
    assert finding.exemption is not None
    assert (finding.state, finding.exemption.owner) == ("exempt", owner)


def test_a_sentence_that_quotes_the_words_of_another_state_keeps_its_own() -> None:
    def quote(_manifest: Manifest, _settings: Settings) -> list[str]:
        return ["Note 'it is not checked until up' must go.\nIt is exempt until (x: y)."]

    _asked, (finding,) = judged("ConfigMap", "c", rule("a/quote", quote, "advisory"))

    assert finding.state == "advisory"


@pytest.mark.parametrize(
    ("level", "until", "state"),
    [
        ("mandatory", None, "violated"),
        ("advisory", None, "advisory"),
        ("mandatory", "2026-11-21", "exempt"),
        ("mandatory", "2026-11-20", "violated"),
        ("advisory", "2026-11-20", "advisory"),
    ],
)
def test_level_and_exemption_decide_the_state(level: str, until: str | None, state: State) -> None:
    listed = [exemption("Job/train", until=until)] if until else []

    _asked, (finding,) = judged("Job", "train", said={RULE: {"level": level, "exemptions": listed}})

    assert (finding.level, finding.state) == (level, state)


def every_form() -> Iterator[Finding]:
    """A finding of each form that there is."""
    ended = {RULE: {"exemptions": [exemption("Job/train", until="2026-11-20")]}}
    asked, found = judged("Job", "train", said=ended)
    yield from found
    yield from expired(asked, TODAY)
    yield from judged("Job", "train", said={RULE: {"exemptions": [exemption("Job/train")]}})[1]
    yield from judged("Job", "train", rule("a/throw", throw))[1]
    yield from judged("Job", "train", rule("a/data", look_at_data, "advisory"))[1]
    yield Finding(
        rule=RULE,
        level="mandatory",
        state="not checked",
        resource=Resource(kind="Job", name="j", urn="urn:x"),
        sentences=("Job 'j' waits.",),
        unknown="spec.x",
    )


@pytest.mark.parametrize("finding", [*every_form()], ids=lambda found: found.state)
def test_a_finding_is_the_same_after_it_was_written_and_read(finding: Finding) -> None:
    assert Finding.from_json(as_json(finding)) == finding


def test_a_verdict_is_as_bad_as_its_worst_finding_and_a_rule_without_one_has_held() -> None:
    rules = (rule("a/one", refuse), rule("a/two", refuse), rule("a/off", refuse))
    asked, _found = judged("Job", "x", *rules, said={"a/off": {"level": "disabled"}})
    about = Resource(kind="Job", name="x")
    said: tuple[tuple[State, str], ...] = (
        ("not checked", "w"),
        ("violated", "c"),
        ("violated", "b"),
    )
    found = [
        Finding(rule="a/one", level="mandatory", state=state, resource=about, sentences=(text,))
        for state, text in said
    ]

    one, two, off = verdicts(asked, found)

    assert (one.state, one.sentences, one.waiting) == ("violated", ("b", "c"), ("w",))
    assert [each.sentences for each in one.findings] == [("b",), ("c",), ("w",)]
    assert (two.state, off.state) == ("held", "disabled")
