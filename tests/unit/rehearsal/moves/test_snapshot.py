"""The jobs of a snapshot of a cluster."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from rehearsal.errors import RehearsalError
from rehearsal.moves.snapshot import COMMAND, of_snapshot
from tests.conftest import ROOT

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
GANG: dict[str, Any] = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "metadata": {"name": "gang", "namespace": "research"},
    "spec": {
        "queue": "research",
        "minAvailable": 3,
        "policies": [{"event": "PodEvicted", "action": "RestartJob"}],
        "volumes": [{"mountPath": "/data", "volumeClaimName": "data"}],
        "tasks": [
            {
                "name": "rank",
                "replicas": 4,
                "template": {
                    "spec": {
                        "volumes": [
                            {"name": "shm", "emptyDir": {"medium": "Memory"}},
                            {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}},
                        ],
                        "containers": [{"name": "main"}],
                    }
                },
            }
        ],
    },
    "status": {"state": {"phase": "Running", "lastTransitionTime": "2026-11-23T03:00:00Z"}},
}
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "plain", "namespace": "default"},
    "spec": {
        "parallelism": 2,
        "selector": {},
        "template": {"spec": {"containers": [{"name": "main"}]}},
    },
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


def test_a_job_of_the_default_scheduler_is_made_as_it_is_without_what_the_cluster_added(
    tmp_path: Path,
) -> None:
    (job,) = of_snapshot(snapshot(tmp_path, JOB, OF_JOB), NOON)
    assert (job.name, job.hours, job.node) == ("default/plain", 0.5, None)
    assert "selector" not in job.manifest["spec"]
    annotations = job.manifest["spec"]["template"]["metadata"]["annotations"]
    assert annotations == {"fleet.gpu/runs-for": "24h"}, "it runs to the end of the rehearsal"


def test_a_gang_is_made_as_volcanos_own_job_without_its_pods(tmp_path: Path) -> None:
    (job,) = of_snapshot(snapshot(tmp_path, GANG, POD), NOON)
    assert (job.name, job.hours, job.node, job.needs) == ("research/gang", 9.0, None, 3)
    assert job.path == "/apis/batch.volcano.sh/v1alpha1/namespaces/research/jobs/gang"
    spec = job.manifest["spec"]
    assert {key: spec[key] for key in ("queue", "minAvailable", "policies")} == {
        key: GANG["spec"][key] for key in ("queue", "minAvailable", "policies")
    }
    assert "volumes" not in spec, "their claims are of the real cluster"
    (task,) = spec["tasks"]
    assert (task["name"], task["replicas"]) == ("rank", 4)
    assert task["template"]["metadata"]["annotations"] == {"fleet.gpu/runs-for": "24h"}
    assert task["template"]["spec"]["volumes"] == [
        {"name": "shm", "emptyDir": {"medium": "Memory"}},
        {"name": "scratch", "emptyDir": {}},
    ]


@pytest.mark.parametrize("change", [{"phase": "Pending"}, {"phase": "Completed"}])
def test_a_gang_that_does_not_run_is_not_made(tmp_path: Path, change: dict[str, str]) -> None:
    with pytest.raises(RehearsalError, match="no running Job or pod is in it"):
        of_snapshot(snapshot(tmp_path, {**GANG, "status": {"state": change}}))


def test_a_job_of_volcanos_scheduler_is_made_and_one_of_another_scheduler_is_not(
    tmp_path: Path,
) -> None:
    def of(scheduler: str) -> list[str]:
        template = {"spec": {"schedulerName": scheduler, "containers": [{"name": "main"}]}}
        job = {**JOB, "spec": {"parallelism": 1, "template": template}}
        return [
            each.manifest["kind"] for each in of_snapshot(snapshot(tmp_path, job, OF_JOB), NOON)
        ]

    assert of("volcano") == ["Job"]
    assert of("theirs") == ["Pod"], "its pod alone is there"


def test_the_twelve_gangs_of_the_docs_fill_prod() -> None:
    found = of_snapshot(ROOT / "docs" / "twelve-gangs.yaml", NOON)
    gpus = {"dgx": 0, "burst": 0}
    for job in found:
        assert job.is_gang
        (task,) = job.manifest["spec"]["tasks"]
        spec = task["template"]["spec"]
        limits = spec["containers"][0]["resources"]["limits"]
        pool = spec["nodeSelector"]["fleet.gpu/pool"]
        gpus[pool] += task["replicas"] * int(limits["nvidia.com/gpu"])
    assert (len(found), gpus) == (12, {"dgx": 16 * 8, "burst": 8 * 8})


def test_a_pod_of_another_owner_is_put_on_the_machine_that_it_runs_on(tmp_path: Path) -> None:
    (pod,) = of_snapshot(snapshot(tmp_path, POD), NOON)
    assert (pod.name, pod.hours, pod.node) == ("research/gang-0", 6.0, "dgx-02")
    spec = pod.manifest["spec"]
    assert "nodeName" not in spec, "the program's rules refuse a pod that names its node"
    assert not {"priority", "serviceAccountName"} & spec.keys()
    assert [each["name"] for each in spec["volumes"]] == ["scratch"]
    assert [each["name"] for each in spec["containers"][0]["volumeMounts"]] == ["scratch"]
    assert pod.manifest["metadata"]["annotations"] == {"scheduling.k8s.io/group-name": "gang"}


GPUS = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": "1k"}}}
TASK = GANG["spec"]["tasks"][0]


@pytest.mark.parametrize(
    ("tasks", "says"),
    [
        ([], 'spec.tasks "[]", which is no list with a task'),
        (
            [{**TASK, "replicas": -1}],
            'spec.tasks[0].replicas "-1", which is not a whole number of 1 or more, or 0',
        ),
        (
            [{**TASK, "replicas": "two"}],
            'spec.tasks[0].replicas "two", which is not a whole number of 1 or more, or 0',
        ),
        ([{"replicas": 2}], 'spec.tasks[0].template.spec "None", which is no mapping'),
    ],
)
def test_a_gang_that_could_not_start_is_refused_before_anything_is_started(
    tmp_path: Path, tasks: list[object], says: str
) -> None:
    path = snapshot(tmp_path, {**GANG, "spec": {**GANG["spec"], "tasks": tasks}})
    with pytest.raises(RehearsalError) as refused:
        of_snapshot(path)
    assert str(refused.value).startswith(f"--jobs {path}: Job research/gang has {says}; allowed:")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [", "is not YAML"),
        ("kind: List\nitems: []\n", "no running Job or pod is in it; allowed: the output of"),
        (None, "cannot be read: No such file or directory"),
        ("kind: List\nitems: 3\n", 'List has items "3"; allowed: the list that'),
        ("startTime: 2026-13-45T06:00:00Z\n", "a time in it is none .month must be in 1"),
        ("a: " + "[" * 5000 + "]" * 5000, "it is nested too deeply to be read; allowed: the"),
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


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"spec": {"parallelism": 1}}, "Job default/plain has no template"),
        (
            {"spec": {"template": {"spec": None}}},
            'Job default/plain has spec.template.spec "None", which is no mapping',
        ),
        (
            {"spec": {"template": {"spec": {}}}},
            'Job default/plain has spec.template.spec.containers "None", which is no list with',
        ),
        (
            {"spec": {"template": {"spec": {"containers": [GPUS]}}}},
            (
                "Job default/plain has spec.template.spec.containers[0].resources.limits."
                'nvidia.com/gpu "1k", which is not a whole number of 0 to 1000'
            ),
        ),
        ({"metadata": {"namespace": "default"}}, "Job without a name has no name"),
        ({"metadata": []}, 'Job without a name has metadata "[]", which is no mapping'),
        (
            {"metadata": {"name": ["a"], "namespace": "research"}},
            "Job research/['a'] has metadata.name \"['a']\", which is no text",
        ),
        (
            {"status": {"active": "lots"}},
            'Job default/plain has status.active "lots", which is no whole number',
        ),
        (
            {"status": {"active": 1, "startTime": "yesterday"}},
            'Job default/plain has a start of "yesterday", which is no time such as 2026-11-23T',
        ),
    ],
)
def test_an_object_that_kubectl_does_not_print_so_is_a_sentence_with_its_name(
    tmp_path: Path, change: dict[str, object], says: str
) -> None:
    path = snapshot(tmp_path, POD, {**JOB, **change})
    with pytest.raises(RehearsalError) as refused:
        of_snapshot(path)
    assert str(refused.value).startswith(f"--jobs {path}: {says}")
    assert str(refused.value).endswith("allowed: the output of " + COMMAND + ".")


def test_a_job_that_is_in_a_file_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RehearsalError, match="Job default/plain is in it twice; allowed: each job"):
        of_snapshot(snapshot(tmp_path, JOB, JOB))


def test_a_mistake_of_yaml_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "jobs.yaml"
    path.write_text("items:\n- {kind: [\n")
    with pytest.raises(RehearsalError, match=r"--jobs .*jobs\.yaml:3:1: is not YAML\.$"):
        of_snapshot(path)


def test_a_task_that_is_scaled_to_0_is_one_without_pods(tmp_path: Path) -> None:
    spare = {"name": "spare", "template": TASK["template"]}  # as kubectl prints replicas: 0
    spec = {**GANG["spec"], "minAvailable": None, "tasks": [TASK, spare]}
    (job,) = of_snapshot(snapshot(tmp_path, {**GANG, "spec": spec}), NOON)
    assert job.needs == 4
