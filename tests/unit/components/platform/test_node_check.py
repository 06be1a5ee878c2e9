"""fleet-node-check in the cluster: where it runs, what it sees, and what it may change."""

import base64
from collections.abc import Mapping
from functools import cache
from typing import Any

from components.platform.monitoring.values import values
from components.platform.node_check import TEXTFILES, NodeCheck
from settings.versions import PYTHON_IMAGE
from tests.support.recorder import Registered, named, render
from workloads.node_check.program import FILE, program


@cache
def registered() -> tuple[Registered, ...]:
    return tuple(render(lambda: NodeCheck("node-check")))


def only(kind: str) -> Mapping[str, Any]:
    (found,) = named(list(registered()), kind).values()
    return found.inputs


def pod() -> Mapping[str, Any]:
    spec: Mapping[str, Any] = only("DaemonSet")["spec"]["template"]["spec"]
    return spec


def test_the_program_travels_whole_and_another_one_is_another_config_map() -> None:
    found = only("ConfigMap")
    assert base64.b64decode(found["binaryData"][FILE]) == program()
    assert found["immutable"] is True
    assert found["metadata"]["name"].startswith("fleet-node-check-")
    (volume,) = (each for each in pod()["volumes"] if "configMap" in each)
    assert volume["configMap"]["name"] == found["metadata"]["name"]


def test_it_runs_on_every_node_that_has_a_plan_whatever_its_taints() -> None:
    terms = pod()["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert terms["nodeSelectorTerms"] == [
        {"matchExpressions": [{"key": "fleet.gpu/numa-plan", "operator": "Exists"}]}
    ]
    assert pod()["tolerations"] == [{"operator": "Exists"}]


def test_it_leaves_every_cpu_to_jobs() -> None:
    (container,) = pod()["containers"]
    assert container["resources"]["requests"]["cpu"] == "0"


def test_it_checks_after_the_start_and_every_five_minutes_and_reports_its_own_node() -> None:
    (container,) = pod()["containers"]
    assert container["command"][-1] == f"/program/{FILE}"
    assert container["args"][:2] == ["--every=300", "--root=/host"]
    assert container["args"][-1] == "--node=$(NODE)"
    assert container["env"][0]["valueFrom"] == {"fieldRef": {"fieldPath": "spec.nodeName"}}


def test_the_machine_is_mounted_read_only_but_for_the_metrics() -> None:
    (container,) = pod()["containers"]
    writable = {each["mountPath"] for each in container["volumeMounts"] if not each.get("readOnly")}
    assert writable == {TEXTFILES}
    paths = {each["hostPath"]["path"] for each in pod()["volumes"] if "hostPath" in each}
    assert paths == {"/", TEXTFILES}


def test_the_node_exporter_reads_the_metrics_where_they_are_written() -> None:
    chart = values(storage_class="hcloud-volumes", storage_gib=100, paged=False)
    exporter: Any = chart["prometheus-node-exporter"]
    (mount,) = exporter["extraHostVolumeMounts"]
    assert mount["hostPath"] == TEXTFILES
    assert f"--collector.textfile.directory={mount['mountPath']}" in exporter["extraArgs"]


def test_the_node_exporter_finds_the_folder_on_machines_without_a_check() -> None:
    chart = values(storage_class="hcloud-volumes", storage_gib=100, paged=False)
    exporter: Any = chart["prometheus-node-exporter"]
    (mount,) = exporter["extraHostVolumeMounts"]
    assert mount["type"] == "DirectoryOrCreate"
    assert mount["readOnly"] is True


def test_it_runs_the_python_that_is_pinned() -> None:
    assert pod()["containers"][0]["image"] == PYTHON_IMAGE


def test_its_account_may_read_and_patch_nodes_and_nothing_else() -> None:
    assert only("ClusterRole")["rules"] == [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "patch"]},
        {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
    ]


def test_pods_come_after_the_policy_that_limits_them() -> None:
    (pods,) = named(list(registered()), "DaemonSet").values()
    assert {urn.rsplit("::", 1)[-1] for urn in pods.depends_on} >= {
        "node-check-policy",
        "node-check-policy-binding",
    }
    assert only("ValidatingAdmissionPolicyBinding")["spec"]["validationActions"] == ["Deny"]
    assert only("ValidatingAdmissionPolicy")["spec"]["failurePolicy"] == "Fail"
