"""The jobs that run while a change is rehearsed."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from hardware.catalogue import load
from ignition.boot.node import BootedNode
from rehearsal.errors import RehearsalError
from rehearsal.moves.jobs import filling, of_snapshot
from rehearsal.nodes import ClusterNode, RequestedMachine
from settings import parse
from settings.gpu_sharing import GpuSharing
from tests.support.stack_settings import config, with_value

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "gang-0",
        "namespace": "research",
        "uid": "1",
        "ownerReferences": [{"kind": "Job", "name": "gang", "controller": True}],
        "annotations": {"scheduling.k8s.io/group-name": "gang"},
    },
    "spec": {
        "nodeName": "dgx-02",
        "schedulerName": "volcano",
        "priority": 100,
        "serviceAccountName": "default",
        "volumes": [{"name": "kube-api-access-x"}, {"name": "scratch", "emptyDir": {}}],
        "containers": [
            {"name": "main", "volumeMounts": [{"name": "kube-api-access-x"}, {"name": "scratch"}]}
        ],
    },
    "status": {"phase": "Running", "startTime": "2026-11-23T06:00:00Z"},
}
GANG = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "gang", "namespace": "research"},
    "spec": {"tasks": []},
}
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "plain", "namespace": "default"},
    "spec": {"parallelism": 2, "selector": {}, "template": {"spec": {"containers": []}}},
    "status": {"active": 2, "startTime": "2026-11-23T11:30:00Z"},
}
OF_JOB = {
    **POD,
    "metadata": {
        "name": "plain-0",
        "namespace": "default",
        "ownerReferences": [{"kind": "Job", "name": "plain", "controller": True}],
    },
}


def snapshot(folder: Path, *items: object) -> Path:
    path = folder / "running.yaml"
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": list(items)}))
    return path


def node(name: str, pool: str, hardware: str) -> ClusterNode:
    machine = RequestedMachine(
        name=name, pool=pool, site="", hardware=hardware, ignition="", provider_id=name
    )
    booted = BootedNode.__new__(BootedNode)  # nothing of it is read
    return ClusterNode(machine=machine, hardware=load(hardware), booted=booted)


NODES = [node("dgx-01", "dgx", "dgx-h200"), node("cpu-1", "cpu", "ccx33")]


def test_each_machine_with_whole_gpus_is_held_by_one_job() -> None:
    settings = parse("dev", config())
    (held,) = filling(settings, NODES)
    assert (held.name, held.hours) == ("default/dgx-holds-1", 12.0)
    template = held.manifest["spec"]["template"]
    (container,) = template["spec"]["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "8"
    assert template["spec"]["nodeSelector"] == {"fleet.gpu/pool": "dgx"}


def test_a_pool_that_admits_no_pod_of_all_gpus_is_held_by_smaller_ones() -> None:
    policy = with_value("pools.dgx.tuning", {"largest_pod_gpus": 4})
    held = list(filling(parse("dev", policy), NODES))
    gpus = [
        each.manifest["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
        for each in held
    ]
    assert [each["nvidia.com/gpu"] for each in gpus] == ["4", "4"]


def test_a_pool_whose_gpus_are_shared_is_held_by_nothing() -> None:
    dgx = parse("dev", config()).pools["dgx"]
    sharing = GpuSharing(mode="mig", mig_layout={"1g.18gb": 7}, replicas=None)
    settings = replace(parse("dev", config()), pools={"dgx": replace(dgx, sharing=sharing)})
    assert list(filling(settings, NODES)) == []


def test_a_job_of_the_default_scheduler_is_made_as_it_is_without_what_the_cluster_added(
    tmp_path: Path,
) -> None:
    (job,) = of_snapshot(snapshot(tmp_path, JOB, OF_JOB), NOON)
    assert (job.name, job.hours, job.node) == ("default/plain", 0.5, None)
    assert "selector" not in job.manifest["spec"]
    annotations = job.manifest["spec"]["template"]["metadata"]["annotations"]
    assert annotations == {"fleet.gpu/runs-for": "24h"}, "it runs to the end of the rehearsal"


def test_a_pod_of_another_scheduler_is_put_on_the_machine_that_it_runs_on(tmp_path: Path) -> None:
    (pod,) = of_snapshot(snapshot(tmp_path, GANG, POD), NOON)
    assert (pod.name, pod.hours, pod.node) == ("research/gang-0", 6.0, "dgx-02")
    spec = pod.manifest["spec"]
    assert "nodeName" not in spec, "the program's rules refuse a pod that names its node"
    assert not {"priority", "serviceAccountName"} & spec.keys()
    assert [each["name"] for each in spec["volumes"]] == ["scratch"]
    assert [each["name"] for each in spec["containers"][0]["volumeMounts"]] == ["scratch"]
    assert pod.manifest["metadata"]["annotations"] == {"scheduling.k8s.io/group-name": "gang"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [", "is not YAML"),
        ("kind: List\nitems: []\n", "no running Job or pod is in it; allowed: the output of"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_a_file_that_is_no_snapshot_is_a_sentence(
    tmp_path: Path, text: str | None, says: str
) -> None:
    path = tmp_path / "jobs.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(RehearsalError, match=f"--jobs .*{says}"):
        of_snapshot(path)
