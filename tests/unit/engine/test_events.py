"""The engine's event log as resources, violations and sentences."""

import json
from pathlib import Path

import pytest

from engine.events import Change, EventLog, Outcome

URN = "urn:pulumi:dev::gpu-fleet::gpu:pools:AwsGpuPool$kubernetes:karpenter.sh/v1:NodePool::burst"


def step(event: str, kind: str, op: str = "create") -> dict[str, object]:
    return {event: {"metadata": {"op": op, "urn": f"urn:pulumi:dev::p::{kind}::x", "type": kind}}}


def diagnosed(message: str, severity: str = "error", urn: str = URN) -> dict[str, object]:
    return {"diagnosticEvent": {"severity": severity, "message": message, "urn": urn}}


def outcome_of(*events: dict[str, object]) -> Outcome:
    outcome = Outcome()
    for event in events:
        outcome.take(event)
    return outcome


def test_resources_are_counted_by_type_without_stack_and_providers() -> None:
    outcome = outcome_of(
        step("resourcePreEvent", "kubernetes:core/v1:Secret"),
        step("resOutputsEvent", "kubernetes:core/v1:Secret"),
        step("resOutputsEvent", "kubernetes:core/v1:Secret", op="same"),
        step("resOutputsEvent", "pulumi:providers:kubernetes"),
        step("resOutputsEvent", "pulumi:pulumi:Stack"),
    )
    assert outcome.started == 1
    assert outcome.types == {"kubernetes:core/v1:Secret": 2}
    assert outcome.steps == {"create": 1, "same": 1}
    assert outcome.changes == [Change(op="create", type="kubernetes:core/v1:Secret", name="x")]


def test_a_replacement_is_one_resource() -> None:
    ops = ("create-replacement", "replace", "delete-replaced")
    outcome = outcome_of(*(step("resOutputsEvent", "hcloud:Server", op=op) for op in ops))
    assert outcome.types == {"hcloud:Server": 1}


def test_the_outputs_of_the_stack_are_its_exports() -> None:
    event = step("resOutputsEvent", "pulumi:pulumi:Stack")
    event["resOutputsEvent"]["metadata"]["new"] = {"outputs": {"endpoint": "x"}}  # type: ignore[index]  # nested literals
    assert outcome_of(event).exports == {"endpoint": "x"}


def test_a_violation_names_resource_rule_and_level() -> None:
    outcome = outcome_of(
        {
            "policyEvent": {
                "resourceUrn": URN,
                "message": "<{%reset%}>NodePool 'burst' must set limits.<{%reset%}>\n",
                "policyName": "fleet-resources",
                "policyPackName": "gpu-fleet",
                "enforcementLevel": "mandatory",
            }
        }
    )
    (violation,) = outcome.violations
    assert violation.resource == "burst"
    assert violation.pack == "gpu-fleet"
    assert violation.message == "NodePool 'burst' must set limits."
    assert violation.level == "mandatory"


def test_an_error_is_one_line_with_its_resource() -> None:
    outcome = outcome_of(diagnosed("<{%fg 1%}>no such\n  CIDR<{%reset%}>\n"))
    assert outcome.errors() == ("burst: no such CIDR",)


def test_of_a_traceback_only_the_exception_is_shown() -> None:
    text = (
        'Program failed:\nTraceback (most recent call last):\n  File "x.py"\nValueError: no pool\n'
    )
    assert outcome_of(diagnosed(text, urn="")).errors() == ("ValueError: no pool",)


@pytest.mark.parametrize(
    "closing",
    [
        "preview failed",
        "an unhandled error occurred: program exited with non-zero exit code: 1",
    ],
)
def test_the_engines_closing_line_is_left_out_beside_the_cause(closing: str) -> None:
    outcome = outcome_of(diagnosed(closing, urn=""), diagnosed("no such CIDR"))
    assert outcome.errors() == ("burst: no such CIDR",)


def test_the_engines_closing_line_is_shown_when_there_is_nothing_else() -> None:
    assert outcome_of(diagnosed("preview failed", urn="")).errors() == ("preview failed",)


def test_where_a_provider_is_gone_its_last_words_are_shown() -> None:
    words = ("starting", "Fatal Python error: Segmentation fault", 'File "nodes.py", line 3')
    told = [diagnosed(line, "info#err") for line in words]

    gone = outcome_of(*told, diagnosed("error reading from server: EOF"))
    refused = outcome_of(*told, diagnosed("no such machine"))

    assert gone.errors() == ("burst: error reading from server: EOF", *words[1:])
    assert refused.errors() == ("burst: no such machine",)


def test_an_ephemeral_message_is_ignored() -> None:
    event = diagnosed("half")
    event["diagnosticEvent"]["ephemeral"] = True  # type: ignore[index]  # nested literals
    assert outcome_of(event).diagnostics == []


def test_the_log_is_read_line_by_line_while_it_grows(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl")
    assert not log.catch_up()
    whole = json.dumps(step("resOutputsEvent", "a:b:C"))
    log.path.write_text(f"{whole}\n{whole[:20]}")
    assert log.catch_up()
    assert log.outcome.finished == 1
    log.path.write_text(f"{whole}\n{whole}\n")
    assert log.catch_up()
    assert log.outcome.finished == 2
