"""fleet-node-check against a real API server: its condition and taint arrive, and nothing else."""

import time
from typing import Any

import pytest
import yaml

from components.platform.node_check import NAME
from hardware.catalogue import load
from rehearsal.api import ApiServerError
from tests.conftest import ROOT
from tests.rehearsal.node_check.conftest import DEADLINE_S, DRIFT, GROUPS, NOW, Cluster
from workloads.acceptance.manifests import manifests
from workloads.api_server import ApiServerError as Refused

COLLECTIONS = {
    "Namespace": "/api/v1/namespaces",
    "ConfigMap": "/api/v1/namespaces/{namespace}/configmaps",
    "Job": "/apis/batch/v1/namespaces/{namespace}/jobs",
    "DaemonSet": "/apis/apps/v1/namespaces/{namespace}/daemonsets",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies",
}
MERGE = "application/merge-patch+json"


def test_a_drift_is_a_condition_and_a_taint_until_it_is_gone(cluster: Cluster) -> None:
    check = cluster.check("node-a")
    check.report([DRIFT], NOW)
    assert cluster.condition("node-a") == {
        "type": "NodeDrift",
        "status": "True",
        "reason": "DriftFound",
        "message": "It is so, expected otherwise: act.",
        "lastHeartbeatTime": NOW,
        "lastTransitionTime": NOW,
    }
    gpu = ("nvidia.com/gpu", "present", "NoSchedule")
    assert cluster.taints("node-a") == [gpu, ("fleet.gpu/drift", "sysctl", "NoSchedule")]
    check.report([], "2026-11-21T12:05:00Z")
    assert cluster.condition("node-a")["status"] == "False"
    assert cluster.taints("node-a") == [gpu]


def pod_for(node: str) -> dict[str, Any]:
    """The spec of a pod that goes to this node alone, and tolerates all of its taints but drift."""
    this = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [this]}}
    tolerated = (
        *("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"),
        "nvidia.com/gpu",
    )
    return {
        "nodeSelector": {"fleet.gpu/numa-plan": "8c1f02aa"},
        "affinity": {"nodeAffinity": required},
        "tolerations": [{"key": key, "operator": "Exists"} for key in tolerated],
        "containers": [{"name": "job", "image": "job"}],
    }


def test_no_pod_is_scheduled_on_a_node_that_drifted(cluster: Cluster) -> None:
    """The real scheduler, with a pod that tolerates all but the drift."""
    cluster.check("node-a").report([DRIFT], NOW)
    pods = "/api/v1/namespaces/default/pods"
    cluster.api.create(
        "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}}
    )
    assert cluster.api.create(pods, {"metadata": {"name": "job"}, "spec": pod_for("node-a")})
    deadline = time.monotonic() + DEADLINE_S
    said = ""
    while "untolerated taint" not in said and time.monotonic() < deadline:
        pod = cluster.api.get(f"{pods}/job")
        assert pod
        assert "nodeName" not in pod["spec"]
        said = " ".join(each.get("message", "") for each in pod["status"].get("conditions", []))
    assert "untolerated taint" in said
    cluster.check("node-a").report([], NOW)


def test_the_check_may_not_change_another_node(cluster: Cluster) -> None:
    with pytest.raises(Refused, match="must change the node of its own pod alone"):
        cluster.check("node-b").report([DRIFT], NOW)


@pytest.mark.parametrize(
    ("suffix", "patch", "must"),
    [
        ("", {"spec": {"taints": []}}, "must change no taint but fleet.gpu/drift"),
        ("", {"spec": {"unschedulable": True}}, "must change nothing else of the spec"),
        ("", {"metadata": {"labels": {"fleet.gpu/pool": "mine"}}}, "must change no label"),
        ("", {"metadata": {"annotations": {"x": "y"}}}, "must change no label"),
        ("/status", {"status": {"capacity": {"nvidia.com/gpu": "99"}}}, "must change nothing else"),
        (
            "/status",
            {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
            "must change no condition but NodeDrift",
        ),
    ],
)
def test_the_check_may_change_its_condition_and_taint_alone(
    cluster: Cluster, suffix: str, patch: dict[str, Any], must: str
) -> None:
    with pytest.raises(Refused, match=must):
        cluster.check("node-a")._request("PATCH", suffix, patch, MERGE)


def test_the_identity_of_a_kubelet_could_set_the_condition_and_not_the_taint(
    cluster: Cluster,
) -> None:
    """Why the check has an account of its own."""
    headers = {
        "Impersonate-User": "system:node:node-b",
        "Impersonate-Group": "system:nodes",
        "Content-Type": "application/strategic-merge-patch+json",
    }
    path = "/api/v1/nodes/node-b"
    condition = {"type": "NodeDrift", "status": "True", "reason": "DriftFound"}
    body = {"status": {"conditions": [condition]}}
    cluster.api.request("PATCH", f"{path}/status", body, headers=headers)
    assert cluster.condition("node-b")["status"] == "True"
    taint = {"key": "fleet.gpu/drift", "effect": "NoSchedule"}
    with pytest.raises(ApiServerError, match="is not allowed to modify taints"):
        cluster.api.request("PATCH", path, {"spec": {"taints": [taint]}}, headers=headers)


def test_the_pods_of_the_check_are_accepted_by_the_api_server(cluster: Cluster) -> None:
    found = cluster.api.get(f"{GROUPS['DaemonSet']}/{NAME}")
    assert found
    assert found["spec"]["template"]["spec"]["priorityClassName"] == "system-node-critical"


def test_the_api_server_knows_every_field_of_the_acceptance_and_of_a_bound_job(
    cluster: Cluster,
) -> None:
    bound = yaml.safe_load((ROOT / "workloads/bind/job.yaml").read_text())
    for manifest in (*manifests(load("dgx-h200"), "node-a"), bound):
        namespace = manifest["metadata"].get("namespace")
        folder = COLLECTIONS[manifest["kind"]].format(namespace=namespace)
        query = {"fieldValidation": "Strict"}
        made = cluster.api.request("POST", folder, manifest, query=query)
        assert made["metadata"]["name"] == manifest["metadata"]["name"]
