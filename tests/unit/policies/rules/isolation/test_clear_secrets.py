"""The rule on plain manifests: no secret where everybody reads it, and none in what it says."""

import base64
import json
from typing import Any

import pytest

from policies.language.manifest import EncryptedText
from policies.rules.isolation.clear_secrets import RULE
from tests.support.policies.gpu_pods import KINDS, container, pod

Object = dict[str, Any]
SECRET = "hunter2-of-the-desk"
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n"
ACCESS = "AKIA" + "IOSFODNN7EXAMPLE"
TOKEN = "abcdef." + "0123456789abcdef"
VARIABLE = "must have no secret in its variables or command; take it from a Secret."


def told(manifest: Object) -> list[str]:
    assert RULE.predicate is not None
    said = RULE.predicate(manifest, {})
    for part in (SECRET, KEY, ACCESS, TOKEN):
        assert part not in "".join(said)
    return said


def variable(name: str, **value: object) -> Object:
    return container("main", env=[{"name": name, **value}])


def config_map(**data: object) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}


def release(values: object) -> Object:
    kind = "kubernetes:helm.sh/v3:Release"
    return {"kind": kind, "metadata": {"name": "chart"}, "spec": {"values": values}}


@pytest.mark.parametrize("kind", KINDS)
def test_a_secret_in_a_variable_is_refused_in_every_kind(kind: str) -> None:
    (said,) = told(KINDS[kind]({"containers": [variable("WANDB_API_KEY", value=SECRET)]}))

    assert said.endswith(f": container 'main' {VARIABLE}")


@pytest.mark.parametrize(
    "name",
    [
        "PASSWORD",
        "DB_PASSWORD",
        "hf_token",
        "AWS_SECRET_ACCESS_KEY",
        "APIKEY",
        "SSH_PRIVATE_KEY",
        "SECRET_KEY",
        "PGPASSWORD",
    ],
)
def test_a_variable_is_a_secret_by_its_name(name: str) -> None:
    assert told(pod(variable(name, value=SECRET))) == [f"Pod 'p': container 'main' {VARIABLE}"]


@pytest.mark.parametrize("value", [KEY, ACCESS, f"id={ACCESS};"])
def test_a_variable_is_a_secret_by_its_value(value: str) -> None:
    assert told(pod(variable("IDENTITY", value=value))) != []


@pytest.mark.parametrize("field", ["command", "args"])
def test_a_command_holds_no_key(field: str) -> None:
    words = ["sh", "-c", f"export AWS_ACCESS_KEY_ID={ACCESS}; train"]

    assert told(pod(container(**{field: words}))) == [f"Pod 'p': container 'main' {VARIABLE}"]
    assert told(pod(container(**{field: ["sh", "-c", "train --tokens 5", 7]}))) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}},
        {"name": "DB_PASSWORD", "value": "$(PASSWORD)"},
        {"name": "DB_PASSWORD", "value": ""},
        {"name": "DB_PASSWORD"},
        {"name": "VAULT_TOKEN", "value": "/var/run/token"},
        {"name": "USE_TOKEN", "value": "true"},
        {"name": "USE_TOKEN", "value": "True"},
        {"name": "EOS_TOKEN", "value": "</s>"},
        {"name": "HF_TOKEN", "value": "{{inputs.parameters.token}}"},
        {"name": "DB_PASSWORD", "value": "$(FIRST)$(SECOND)"},
        {"name": "TOKENIZERS_PARALLELISM", "value": "false"},
        {"name": "MONKEY", "value": "banana"},
        {"name": "NCCL_DEBUG", "value": "INFO"},
    ],
)
def test_variables_that_only_name_a_secret_pass(fields: Object) -> None:
    assert told(pod(container(env=[fields]))) == []


@pytest.mark.parametrize("field", ["initContainers", "ephemeralContainers"])
def test_containers_before_and_beside_those_of_the_pod_count(field: str) -> None:
    manifest = pod(container())
    manifest["spec"][field] = [variable("TOKEN", value=SECRET)]

    assert len(told(manifest)) == 1


def test_a_config_map_holds_no_secret() -> None:
    said = ["ConfigMap 'c' must have no secret in its data; put it into a Secret."]

    assert told(config_map(db_password=SECRET)) == said
    assert told(config_map(id=KEY)) == said
    assert told(config_map(batch="8", certificate="-----BEGIN CERTIFICATE-----")) == []
    assert told(config_map()) == []


def test_values_of_a_chart_name_a_secret_instead() -> None:
    must = "must have no secret in its values; name a Secret instead."
    said = [f"kubernetes:helm.sh/v3:Release 'chart' {must}"]

    assert told(release({"db": {"password": SECRET}})) == said
    assert told(release({"grafana": {"adminPassword": SECRET}})) == said
    assert told(release({"env": [{"name": "API_TOKEN", "value": SECRET}]})) == said
    assert told(release({"config": f"key: {ACCESS}"})) == said
    reference = {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "a", "key": "token"}}}
    assert told(release({"env": [reference], "existingSecret": "keys"})) == []
    assert told(release({"podAnnotations": {"fleet.gpu/secret": "22060656f5f719b7"}})) == []
    assert told(release(None)) == []


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("hcloud:index/server:Server", "userData", f"token: {TOKEN}\n"),
        ("aws:s3/bucketObjectv2:BucketObjectv2", "content", KEY),
        ("pulumi:providers:hcloud", "token", SECRET),
        ("pulumi:providers:kubernetes", "kubeconfig", SECRET),
        ("pulumi-python:dynamic/lakefs:Repository", "secret_access_key", SECRET),
        ("random:index:X", "adminPassword", SECRET),
    ],
)
def test_an_input_that_is_secret_is_encrypted_in_the_state(
    kind: str, name: str, value: str
) -> None:
    resource = {"kind": kind, "metadata": {"name": "x"}}
    must = f"must have its input {name} encrypted in the state; mark it with pulumi.Output.secret."

    assert told({**resource, "spec": {name: value}}) == [f"{kind} 'x' {must}"]
    assert told({**resource, "spec": {name: EncryptedText(value)}}) == []
    assert told({**resource, "spec": {name: ""}}) == []


def test_an_input_that_is_none_may_stand_there() -> None:
    server: Object = {"kind": "hcloud:index/server:Server", "metadata": {"name": "x"}}

    assert told({**server, "spec": {"userData": "hello", "name": SECRET, "labels": {}}}) == []
    assert told({**server, "spec": None}) == []


def nested(text: str, depth: int) -> str:
    for _ in range(depth):
        source = f"data:;base64,{base64.b64encode(text.encode()).decode()}"
        text = json.dumps({"storage": {"files": [{"contents": {"source": source}}]}})
    return text


@pytest.mark.parametrize("secret", [KEY, ACCESS, f"token: {TOKEN}\n"])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_plain_boot_data_holds_no_secret_however_it_is_wrapped(secret: str, depth: int) -> None:
    must = "must have no secret in plain boot data; put it into the part that is encrypted."
    pool = {"kind": "gpu:pools:X", "metadata": {"name": "a"}}
    node_class = {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "a"},
    }

    assert told({**pool, "spec": {"ignition": nested(secret, depth)}}) == [
        f"gpu:pools:X 'a' {must}"
    ]
    assert told({**node_class, "spec": {"userData": nested(secret, depth)}}) == [
        f"EC2NodeClass 'a' {must}"
    ]


def test_boot_data_without_secrets_passes_and_what_is_no_text_too() -> None:
    pool = {"kind": "gpu:pools:X", "metadata": {"name": "a"}}

    assert told({**pool, "spec": {"ignition": nested("hello 1.2.3 sha512-abc", 2)}}) == []
    assert told({**pool, "spec": {"ignition": "data:;base64,////"}}) == []
    assert told({**pool, "spec": {}}) == []
