"""No rule ever prints a secret: not from an object that breaks it, and not where it fails."""

from collections.abc import Iterator
from copy import deepcopy
from datetime import date
from typing import Any

import pytest

from policies.configuration import ConfiguredRule, configure
from policies.gates.judging import findings
from policies.language.manifest import EncryptedText
from policies.language.rule import Rule
from policies.rules import ALL
from policies.verdicts import Resource
from tests.rehearsal.admission.cases import CASES, SETTINGS

TODAY = date(2026, 11, 21)
IT = Resource(kind="Object", name="it")
SECRET = "AKIAHUNTER2HUNTER2HU"  # of the form of a key, so that rules look at it
KEY = f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n-----END RSA PRIVATE KEY-----"
PLACES = ("password", "token", "AWS_SECRET_ACCESS_KEY", "userData", "user_data", "joinToken")


def _told(manifest: Any, rules: tuple[ConfiguredRule, ...]) -> Iterator[str]:
    for stack in (None, [manifest]):
        for found in findings(manifest, rules, resource=IT, today=TODAY, stack=stack):
            yield from found.sentences


def _laced(value: Any) -> Any:
    """The same with secrets in every place where people leave them."""
    if isinstance(value, dict):
        laced = {key: _laced(each) for key, each in value.items()}
        if "image" in value:
            laced["env"] = [{"name": place, "value": SECRET} for place in PLACES]
            laced["args"] = [f"--token={SECRET}", KEY]
            laced["command"] = ["sh", "-c", f"torchrun --password {SECRET}"]
        if "labels" in value or "annotations" in value:
            laced["annotations"] = {**(value.get("annotations") or {}), "note": SECRET}
        return laced
    return [_laced(each) for each in value] if isinstance(value, list) else deepcopy(value)


def _objects() -> Iterator[tuple[str, Any]]:
    said = dict.fromkeys(PLACES, SECRET)
    meta = {"metadata": {"name": "s"}}
    for kind in ("Secret", "ConfigMap"):
        yield kind, {"apiVersion": "v1", "kind": kind, **meta, "data": said, "stringData": said}
    for kind in (
        "hcloud:index/server:Server",
        "hcloud:index/sshKey:SshKey",
        "aws:ec2/instance:Instance",
        "aws:ec2/launchTemplate:LaunchTemplate",
        "aws:rds/instance:Instance",
        "aws:s3/bucket:Bucket",
        "kubernetes:helm.sh/v3:Release",
        "gpu:pools:AwsGpuPool",
        "gpu:pools:BareMetalPool",
        "gpu:pools:HetznerPool",
    ):
        values = {"chart": "volcano", "values": {"custom": said, "env": [said]}}
        yield kind, {"kind": kind, **meta, "spec": {**said, **values, "ignition": KEY}}
    for kind in ("EC2NodeClass", "BareMetalHost", "NodePool"):
        group = {"EC2NodeClass": "karpenter.k8s.aws/v1", "NodePool": "karpenter.sh/v1"}
        version = group.get(kind, "metal3.io/v1alpha1")
        yield kind, {"apiVersion": version, "kind": kind, **meta, "spec": {**said, "bmc": said}}


@pytest.fixture(scope="module")
def rules() -> tuple[ConfiguredRule, ...]:
    of_rules = {rule.id: SETTINGS.get(rule.id, {}) for rule in ALL}
    return configure({"facts": SETTINGS["facts"], **of_rules})


@pytest.mark.parametrize("rule", [rule for rule in ALL if rule.predicate], ids=lambda rule: rule.id)
def test_an_object_that_breaks_a_rule_keeps_its_secrets(
    rule: Rule, rules: tuple[ConfiguredRule, ...]
) -> None:
    laced = [_laced(case.manifest) for case in CASES if case.rule == rule.id and case.bad]

    said = [sentence for each in laced for sentence in _told(each, rules)]

    assert said or not laced
    assert not [sentence for sentence in said if SECRET in sentence or "PRIVATE KEY" in sentence]


def _encrypted(value: Any) -> Any:
    """The same with every text but the object's identity marked as secret."""
    if isinstance(value, dict):
        known = ("apiVersion", "kind", "metadata")
        return {key: each if key in known else _encrypted(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_encrypted(each) for each in value]
    return EncryptedText(value) if isinstance(value, str) else value


def test_a_value_that_pulumi_encrypts_is_hidden_in_the_sentence_that_would_tell_it(
    rules: tuple[ConfiguredRule, ...],
) -> None:
    duration = "167h59m59s"
    template = {"spec": {"expireAfter": duration, "taints": [{"key": "nvidia.com/gpu"}]}}
    spec = {"limits": {"nvidia.com/gpu": "8"}, "template": template}
    kind = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "burst"}}

    said = " ".join(_told({**kind, "spec": spec}, rules))
    hidden = " ".join(_told(_encrypted({**kind, "spec": spec}), rules))

    assert f"expireAfter {duration};" in said
    assert duration not in hidden
    assert "NodePool 'burst' has spec.template.spec.expireAfter [secret];" in hidden


@pytest.mark.parametrize(("kind", "manifest"), list(_objects()))
def test_a_resource_full_of_secrets_keeps_them(
    kind: str, manifest: Any, rules: tuple[ConfiguredRule, ...]
) -> None:
    assert not [sentence for sentence in _told(manifest, rules) if SECRET in sentence]
