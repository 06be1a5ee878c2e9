"""The pack behind the engine's protocol, called as the engine calls it."""

from datetime import date
from typing import Any

import pytest
from google.protobuf import json_format  # type: ignore[import-untyped]  # ships no types
from pulumi.runtime.proto import analyzer_pb2 as proto
from pulumi_policy.deserialize import (
    SPECIAL_SECRET_SIG,
    SPECIAL_SIG_KEY,
    deserialize_properties,
)
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, unknown_checking_proxy

from benchmarks.objects import objects
from policies.gates.analyzer import Analyzer
from policies.gates.normal_form import from_wire, plain
from policies.gates.pack_config import POLICY, STACK_POLICY, pack_config
from policies.gates.plan import ADVISORY_POLICY, policies
from policies.gates.unknown import NotKnownYet
from policies.rules.idle import gpu_node_pool as idle_gpu_node_pool
from tests.support.policies.node_pools import node_pool

RULE = idle_gpu_node_pool.RULE
URN = "urn:pulumi:dev::gpu-fleet::kubernetes:karpenter.sh/v1:NodePool::burst"
KIND = "kubernetes:karpenter.sh/v1:NodePool"


def analyzer(settings: dict[str, dict[str, object]] | None = None) -> Analyzer:
    made = Analyzer("gpu-fleet", policies([RULE], today=lambda: date(2026, 11, 21)))
    if settings is not None:
        request = proto.ConfigureAnalyzerRequest()
        for policy in made.GetAnalyzerInfo(None, None).policies:
            request.policyConfig[policy.name].enforcementLevel = policy.enforcementLevel
        for name, config in pack_config(settings, [RULE]).items():
            request.policyConfig[name].properties.update(config)
        made.Configure(request, None)
    return made


def said(made: Analyzer, properties: dict[str, Any]) -> list[tuple[str, int, str]]:
    request = proto.AnalyzeRequest(type=KIND, urn=URN, name="burst")
    request.properties.update(properties)
    found = made.Analyze(request, None).diagnostics
    return [(each.policyName, each.enforcementLevel, each.message) for each in found]


def slow() -> dict[str, Any]:
    found = node_pool()
    found["spec"]["disruption"]["consolidateAfter"] = "45m"
    return found


def test_a_mandatory_violation_says_the_description_and_then_the_sentence() -> None:
    ((policy, level, message),) = said(analyzer(), slow())
    assert (policy, level) == (POLICY, proto.MANDATORY)
    description, paragraph = message.split("\n", 1)
    assert description == "Each resource must follow the fleet's rules."
    assert paragraph.startswith(f"{RULE.id}: NodePool ")


def test_an_advisory_one_comes_from_the_policy_that_stops_nothing() -> None:
    ((policy, level, _),) = said(analyzer({RULE.id: {"level": "advisory"}}), slow())
    assert (policy, level) == (ADVISORY_POLICY, proto.ADVISORY)


def test_settings_that_the_engine_hands_over_count() -> None:
    assert said(analyzer({RULE.id: {"max_consolidate_after_minutes": 60}}), slow()) == []


@pytest.mark.parametrize("name", [POLICY, STACK_POLICY])
def test_settings_given_under_one_policy_count_for_both(name: str) -> None:
    ended = {"resource": "NodePool/x", "owner": "a", "reason": "b", "until": "2026-11-20"}
    said_once = {RULE.id: {"level": "advisory", "exemptions": [ended]}}
    made = analyzer()
    request = proto.ConfigureAnalyzerRequest()
    for policy in (POLICY, STACK_POLICY):
        request.policyConfig[policy].enforcementLevel = proto.MANDATORY
        request.policyConfig[policy].properties.update({RULE.id: {}})  # as the engine fills it in
    request.policyConfig[name].properties.update(said_once)
    made.Configure(request, None)

    assert [policy for policy, _, _ in said(made, slow())] == [ADVISORY_POLICY]
    (over,) = made.AnalyzeStack(proto.AnalyzeStackRequest(), None).diagnostics
    assert "the exemption of NodePool/x ended on 2026-11-20" in over.message


def test_a_policy_that_the_engine_disables_is_not_asked() -> None:
    made = analyzer()
    request = proto.ConfigureAnalyzerRequest()
    request.policyConfig[POLICY].enforcementLevel = proto.DISABLED
    made.Configure(request, None)
    assert said(made, slow()) == []


def test_the_engine_is_told_every_policy_with_its_level_and_its_schema() -> None:
    info = analyzer().GetAnalyzerInfo(None, None)
    assert info.supportsConfig
    levels = {
        policy.name: (policy.enforcementLevel, policy.policy_type) for policy in info.policies
    }
    assert levels[POLICY] == (proto.MANDATORY, proto.POLICY_TYPE_RESOURCE)
    assert levels[ADVISORY_POLICY] == (proto.ADVISORY, proto.POLICY_TYPE_RESOURCE)
    assert levels[STACK_POLICY] == (proto.MANDATORY, proto.POLICY_TYPE_STACK)
    schemas = {policy.name: policy.configSchema.properties for policy in info.policies}
    assert RULE.id in schemas[POLICY]


@pytest.mark.parametrize("manifest", objects(12), ids=lambda one: one["metadata"]["name"])
def test_a_resource_is_read_as_the_sdk_would_hand_it_over(manifest: dict[str, Any]) -> None:
    sent = wire({**manifest, "whole": 3, "half": 0.5, "no": None, "yes": True, "few": [1, [2]]})
    copied = deserialize_properties(json_format.MessageToDict(sent))
    assert from_wire(sent) == plain(unknown_checking_proxy(copied))


def test_a_secret_is_read_by_its_value_and_an_unknown_leaf_by_its_path() -> None:
    secret = {SPECIAL_SIG_KEY: SPECIAL_SECRET_SIG, "value": {"token": "t"}}
    found: Any = from_wire(wire({"data": secret, "spec": {"ips": ["1", UNKNOWN_STRING_VALUE]}}))
    assert found["data"] == {"token": "t"}
    assert found["spec"]["ips"][0] == "1"
    with pytest.raises(NotKnownYet, match=r"^spec\.ips\[1\]$"):
        str(found["spec"]["ips"][1])


def wire(properties: dict[str, Any]) -> Any:
    request = proto.AnalyzeRequest()
    request.properties.update(properties)
    return request.properties
