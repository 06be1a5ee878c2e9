"""fleet-join-tokens: its pod, its key and its rights are no more than it needs."""

import json
from collections.abc import Sequence
from typing import Any

from components.platform.join_tokens import JoinTokens, JoinTokensArgs
from components.pools.boot import Cluster
from tests.support.recorder import ACCESS_KEY, Registered, Secret, named, render

CLUSTER = Cluster(name="c", endpoint="api.fleet.example:6443", ca_cert_hash="sha256:" + "ab" * 32)


def made(*burst: str) -> list[Registered]:
    region = "eu-west-1" if burst else None

    def program() -> None:
        JoinTokens("tokens", JoinTokensArgs(cluster=CLUSTER, region=region, burst=burst))

    return render(program)


def inputs(resources: Sequence[Registered], kind: str) -> Any:
    (found,) = named(resources, kind).values()
    return found.inputs


def test_its_key_writes_the_join_part_of_each_burst_pool_and_nothing_else() -> None:
    (statement,) = json.loads(inputs(made("a", "b"), "Policy")["policy"])["Statement"]
    assert statement["Action"] == "s3:PutObject"
    buckets = ("c-a-abababababab", "c-b-abababababab")
    assert statement["Resource"] == [f"arn:aws:s3:::{bucket}/join.ign" for bucket in buckets]


def test_without_a_burst_pool_there_is_no_key() -> None:
    resources = made()
    assert not named(resources, "AccessKey")
    assert (
        "envFrom" not in inputs(resources, "Deployment")["spec"]["template"]["spec"]["containers"]
    )


def test_the_key_and_the_seed_are_secret() -> None:
    data = inputs(made("a"), "Secret")["stringData"]
    assert isinstance(data, Secret)
    assert isinstance(data.value, dict)
    assert data.value["AWS_SECRET_ACCESS_KEY"] == ACCESS_KEY


def test_the_template_of_the_join_part_holds_no_token_and_lies_where_machines_look() -> None:
    (pool,) = json.loads(inputs(made("a"), "ConfigMap")["data"]["burst-pools.json"])
    assert pool["source"] == "s3://c-a-abababababab/join.ign"
    assert pool["url"] == "https://c-a-abababababab.s3.eu-west-1.amazonaws.com/join.ign"
    assert pool["region"] == "eu-west-1"


def test_an_update_does_not_wait_for_a_pod_that_waits_for_the_first_machine() -> None:
    annotations = inputs(made("a"), "Deployment")["metadata"]["annotations"]
    assert annotations == {"pulumi.com/skipAwait": "true"}


def test_its_pod_is_as_pod_security_restricted_wants_it() -> None:
    resources = made("a")
    labels = inputs(resources, "Namespace")["metadata"]["labels"]
    assert labels == {"pod-security.kubernetes.io/enforce": "restricted"}
    spec = inputs(resources, "Deployment")["spec"]
    assert spec["strategy"] == {"type": "Recreate"}, "two would write one object with two tokens"
    pod = spec["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    (container,) = pod["containers"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
