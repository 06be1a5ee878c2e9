"""Which resources say who pays for them."""

from typing import Any

import pytest

from policies.rules.cost.labels import RULE
from tests.support.policies.gpu_pods import KINDS, container, gpu_container

NAMES = ("team", "cost-centre", "project", "experiment", "branch")
ALL_LABELS = {f"fleet.gpu/{name}": "x" for name in NAMES}
CLUSTER, POOL = "fleet.gpu/cluster", "fleet.gpu/pool"


def violations(manifest: dict[str, Any], **settings: object) -> list[str]:
    assert RULE.predicate is not None
    return RULE.predicate(manifest, {**RULE.defaults(), **settings})


def pod(labels: dict[str, str]) -> dict[str, Any]:
    made = KINDS["Pod"]({"containers": [gpu_container()]})
    made["metadata"]["labels"] = labels
    return made


def rented(kind: str, **inputs: object) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": "r"}, "spec": inputs}


def without(*names: str) -> dict[str, str]:
    return {key: value for key, value in ALL_LABELS.items() if key not in names}


@pytest.mark.parametrize("kind", KINDS)
def test_pods_with_gpus_and_no_labels_are_refused_in_every_kind(kind: str) -> None:
    (said,) = violations(KINDS[kind]({"containers": [gpu_container()]}))

    assert said.endswith(f" must have on its pods the labels {', '.join(ALL_LABELS)}.")


@pytest.mark.parametrize("kind", KINDS)
def test_pods_without_gpus_are_not_asked(kind: str) -> None:
    assert violations(KINDS[kind]({"containers": [container()]})) == []


def test_a_pod_with_all_labels_passes() -> None:
    assert violations(pod(ALL_LABELS)) == []


def test_the_labels_of_a_template_count_and_not_those_of_the_job() -> None:
    job = KINDS["Job"]({"containers": [gpu_container()]})
    job["metadata"]["labels"] = ALL_LABELS
    assert violations(job) != []

    job["spec"]["template"]["metadata"] = {"labels": ALL_LABELS}
    assert violations(job) == []


def test_only_the_missing_labels_are_named_and_an_empty_one_is_missing() -> None:
    assert violations(pod({**without("fleet.gpu/branch"), "fleet.gpu/team": ""})) == [
        "Pod 'p' must have on its pods the labels fleet.gpu/team, fleet.gpu/branch."
    ]


def test_the_environment_says_which_labels() -> None:
    assert violations(pod({"fleet.gpu/team": "x"}), pod_labels=["team"]) == []
    assert violations(rented("aws:sqs/queue:Queue", tags={"fleet.gpu/owner": "x"})) != []
    bought = rented("aws:sqs/queue:Queue", tags={"fleet.gpu/owner": "x"})
    assert violations(bought, cloud_labels=["owner"]) == []


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        ("aws:s3/bucket:Bucket", "tags"),
        ("aws:sqs/queue:Queue", "tags"),
        ("aws:ec2/natGateway:NatGateway", "tagsAll"),
        ("hcloud:index/volume:Volume", "labels"),
        ("hcloud:index/loadBalancer:LoadBalancer", "labels"),
    ],
)
def test_a_resource_that_a_cloud_bills_carries_the_cluster(kind: str, place: str) -> None:
    assert violations(rented(kind)) == [f"{kind} 'r' must have the tags or labels {CLUSTER}."]
    assert violations(rented(kind, **{place: {CLUSTER: "fleet-dev"}})) == []


@pytest.mark.parametrize("kind", ["hcloud:index/server:Server", "aws:ec2/instance:Instance"])
def test_a_machine_carries_its_pool_too(kind: str) -> None:
    said = violations(rented(kind, labels={CLUSTER: "fleet-dev"}))

    assert said == [f"{kind} 'r' must have the tags or labels {POOL}."]
    assert violations(rented(kind, labels={CLUSTER: "fleet-dev", POOL: "cpu"})) == []


def test_karpenters_machines_get_their_tags_from_the_node_class() -> None:
    said = violations(rented("EC2NodeClass", tags={CLUSTER: "fleet-dev"}))

    assert said == [f"EC2NodeClass 'r' must have in spec.tags {POOL}."]
    assert violations(rented("EC2NodeClass", tags={CLUSTER: "fleet-dev", POOL: "burst"})) == []


@pytest.mark.parametrize("kind", ["aws:iam/role:Role", "hcloud:index/network:Network", "Namespace"])
def test_a_resource_that_costs_nothing_needs_no_labels(kind: str) -> None:
    assert violations(rented(kind)) == []


def test_kubeflows_notebook_has_the_labels_itself() -> None:
    spec = {"template": {"spec": {"containers": [gpu_container()]}}}
    found = {"apiVersion": "kubeflow.org/v1", "kind": "Notebook", "spec": spec}

    assert violations({**found, "metadata": {"name": "n", "labels": ALL_LABELS}}) == []
    some = without("fleet.gpu/team")
    assert violations({**found, "metadata": {"name": "n", "labels": some}}) == [
        "Notebook 'n' must have on its pods the labels fleet.gpu/team."
    ]


def test_an_auto_scaling_group_lists_its_tags() -> None:
    group = "aws:autoscaling/group:Group"
    tag = {"key": CLUSTER, "value": "dev", "propagateAtLaunch": True}

    assert violations(rented(group, tags=[tag])) == []
    assert violations(rented(group)) == [f"{group} 'r' must have the tags or labels {CLUSTER}."]
