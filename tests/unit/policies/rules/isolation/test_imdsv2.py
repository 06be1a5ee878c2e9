"""The rule on plain manifests: who may ask a machine for its credentials."""

from typing import Any

import pytest

from policies.rules.isolation.imdsv2 import RULE

Object = dict[str, Any]
CLASS = "EC2NodeClass"
EC2 = ("aws:ec2/instance:Instance", "aws:ec2/launchTemplate:LaunchTemplate")
TOKENS = "must have metadataOptions.httpTokens required."
HOPS = "must have metadataOptions.httpPutResponseHopLimit 1, or its pods have its credentials."


def told(kind: str, **options: object) -> list[str]:
    assert RULE.predicate is not None
    spec: Object = {"metadataOptions": options} if options else {}
    manifest: Object = {"kind": kind, "metadata": {"name": "burst"}, "spec": spec}
    if kind == CLASS:
        manifest["apiVersion"] = "karpenter.k8s.aws/v1"
    return RULE.predicate(manifest, {})


@pytest.mark.parametrize("kind", [CLASS, *EC2])
def test_tokens_must_be_required(kind: str) -> None:
    assert told(kind, httpTokens="optional") == [f"{kind} 'burst' {TOKENS}"]
    assert told(kind, httpTokens="required") == []


def test_without_options_karpenter_requires_tokens_and_ec2_does_not() -> None:
    assert told(CLASS) == []
    assert told(CLASS, httpPutResponseHopLimit=1) == []
    for kind in EC2:
        assert told(kind) == [f"{kind} 'burst' {TOKENS}"]


@pytest.mark.parametrize("kind", [CLASS, *EC2])
def test_a_pod_is_two_hops_away(kind: str) -> None:
    said = told(kind, httpTokens="required", httpPutResponseHopLimit=2)

    assert said == [f"{kind} 'burst' {HOPS}"]


def test_a_machine_without_the_service_and_what_is_no_machine_pass() -> None:
    assert told(CLASS, httpEndpoint="disabled", httpTokens="optional") == []
    assert told("aws:s3/bucket:Bucket") == []
