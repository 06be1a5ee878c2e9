"""Karpenter outside EKS: what it is told, what it may do, and which warnings reach it."""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from components.platform.karpenter import policies
from components.platform.karpenter.interruptions import EVENTS
from components.platform.karpenter.release import Karpenter, KarpenterArgs
from rehearsal.providers.aws.policies import IDENTITY, RESOURCE_POLICY
from settings.versions import KARPENTER, KARPENTER_CRD
from tests.support.recorder import ACCESS_KEY, Registered, Secret, named, plain, render

CLUSTER, REGION = "fleet-test", "us-east-1"
ROLE = "fleet-test-burst-node"


@cache
def resources(preview: bool = False) -> tuple[Registered, ...]:
    args = KarpenterArgs(
        cluster=CLUSTER,
        endpoint="https://api.fleet.example:6443",
        region=REGION,
        memory_overhead=0.025,
        node_roles=[ROLE],
        system_pools=["cpu"],
    )
    return tuple(render(lambda: Karpenter("karpenter", args), preview=preview))


def inputs(kind: str) -> dict[str, Any]:
    """The inputs of each resource of a kind by its name in Pulumi."""
    return {name: each.inputs for name, each in named(list(resources()), kind).items()}


def values() -> Any:
    return inputs("Release")["karpenter-controller"]["values"]


def statements(document: Mapping[str, object]) -> list[dict[str, Any]]:
    found = document["Statement"]
    assert isinstance(found, list)
    return found


def test_kinds_and_controller_are_two_pinned_charts_and_the_kinds_come_once() -> None:
    releases = inputs("Release")
    crds, controller = releases["karpenter-crd"], releases["karpenter-controller"]
    assert (crds["chart"], crds["version"]) == (KARPENTER_CRD.name, KARPENTER_CRD.version)
    assert (controller["chart"], controller["version"]) == (KARPENTER.name, KARPENTER.version)
    assert KARPENTER.version == KARPENTER_CRD.version
    assert controller["skipCrds"] is True, "the chart brings the kinds as well"


def test_the_controller_is_told_its_cluster_and_the_queue_that_is_made() -> None:
    (queue,) = inputs("Queue").values()
    settings = values()["settings"]
    assert settings["clusterName"] == CLUSTER
    assert settings["clusterEndpoint"] == "https://api.fleet.example:6443"
    assert settings["interruptionQueue"] == queue["name"]
    assert settings["vmMemoryOverheadPercent"] == 0.025
    assert values()["controller"]["env"] == [{"name": "AWS_REGION", "value": REGION}]


def test_the_controller_waits_for_kinds_queue_and_key() -> None:
    controller = named(list(resources()), "Release")["karpenter-controller"]
    waited = {urn.rsplit("::", 1)[-1] for urn in controller.depends_on}
    assert {"karpenter-crd", "karpenter-access-key", "karpenter-warnings-queue"} <= waited


def test_the_controller_stays_off_nodes_that_it_may_take_away() -> None:
    required = values()["affinity"]["nodeAffinity"]
    ((term,),) = [each["nodeSelectorTerms"] for each in required.values()]
    assert term["matchExpressions"] == [
        {"key": "karpenter.sh/nodepool", "operator": "DoesNotExist"},
        {"key": "fleet.gpu/pool", "operator": "In", "values": ["cpu"]},
    ]
    assert values()["topologySpreadConstraints"] == [], "owned machines have no zone"


def test_the_access_key_stands_in_one_secret_and_nowhere_in_clear() -> None:
    (secret,) = inputs("Secret").values()
    assert isinstance(secret["stringData"], Secret)
    assert secret["stringData"].value["AWS_SECRET_ACCESS_KEY"] == ACCESS_KEY  # type: ignore[index]  # a mapping
    (source,) = values()["controller"]["envFrom"]
    assert source["secretRef"]["name"] == secret["metadata"]["name"]
    assert secret["metadata"]["namespace"] == "kube-system", "the namespace of the controller"
    for preview in (False, True):
        for each in resources(preview):
            assert ACCESS_KEY not in json.dumps(plain(each.inputs)), each.name


def test_another_key_starts_other_pods() -> None:
    digest = hashlib.sha256(b"karpenter-access-key-id").hexdigest()[:16]
    assert values()["podAnnotations"] == {"fleet.gpu/access-key": digest}


def test_every_policy_is_one_that_iam_accepts() -> None:
    for policy in inputs("Policy").values():
        assert IDENTITY(policy["policy"]) is None
    (policy,) = inputs("QueuePolicy").values()
    assert RESOURCE_POLICY(policy["policy"]) is None


def test_the_policies_are_known_at_preview() -> None:
    for policy in named(list(resources(preview=True)), "Policy").values():
        assert isinstance(policy.inputs["policy"], str), "reviewers must be able to read it"


def test_both_policies_are_attached_to_the_user() -> None:
    attached = inputs("UserPolicyAttachment")
    assert len(attached) == len(inputs("Policy")) == 2
    (user,) = inputs("User").values()
    assert {each["user"] for each in attached.values()} == {user["name"]}


@pytest.mark.parametrize(
    "action",
    ["ec2:TerminateInstances", "ec2:DeleteLaunchTemplate", "ec2:CreateTags"],
)
def test_karpenter_may_change_or_end_only_what_bears_its_clusters_tags(action: str) -> None:
    document = policies.lifecycle(CLUSTER, REGION, [ROLE])
    allowing = [each for each in statements(document) if action in _listed(each["Action"])]
    assert allowing
    for statement in allowing:
        conditions = json.dumps(statement["Condition"]["StringEquals"])
        assert f'/kubernetes.io/cluster/{CLUSTER}": "owned"' in conditions


def test_no_action_on_any_resource_but_reading() -> None:
    for document in (
        policies.lifecycle(CLUSTER, REGION, [ROLE]),
        policies.discovery(REGION, "queue"),
    ):
        for statement in statements(document):
            for action in _listed(statement["Action"]):
                reads = action.split(":")[1].startswith(("Describe", "List", "Get"))
                assert reads or "*" not in _listed(statement["Resource"]), action
                assert "*" not in action


def test_karpenter_may_pass_the_pools_roles_to_ec2_and_no_other() -> None:
    document = policies.lifecycle(CLUSTER, REGION, [ROLE])
    (passing,) = [each for each in statements(document) if each["Action"] == "iam:PassRole"]
    assert passing["Resource"] == [f"arn:aws:iam::*:role/{ROLE}"]
    assert passing["Condition"] == {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}


def test_reserved_capacity_may_be_launched_into() -> None:
    document = policies.lifecycle(CLUSTER, REGION, [ROLE])
    assert f"arn:aws:ec2:{REGION}:*:capacity-reservation/*" in json.dumps(document)


def test_every_warning_reaches_the_queue() -> None:
    rules, targets = inputs("EventRule"), inputs("EventTarget")
    patterns = {json.loads(each["eventPattern"])["detail-type"][0] for each in rules.values()}
    assert {
        "EC2 Spot Instance Interruption Warning",
        "EC2 Instance Rebalance Recommendation",
        "EC2 Instance State-change Notification",
        "AWS Health Event",
    } <= patterns
    assert len(rules) == len(targets) == len(EVENTS)
    assert {each["rule"] for each in targets.values()} == {each["name"] for each in rules.values()}
    (queue,) = inputs("Queue").values()
    assert {each["arn"].rsplit(":", 1)[-1] for each in targets.values()} == {queue["name"]}


def test_the_queue_is_encrypted_and_forgets_old_warnings() -> None:
    (queue,) = inputs("Queue").values()
    assert queue["sqsManagedSseEnabled"] is True
    assert queue["messageRetentionSeconds"] == 300


def _listed(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else [str(value)]
