"""What the preview lets through runs: no rule refuses the pods that a controller makes of it."""

from collections.abc import Iterator
from typing import Any

import pytest

from policies.language.pods import Pod, pods
from tests.rehearsal.admission.cases import CASES
from tests.support.admission.verdicts import planned

OWNERS = {"Deployment": "ReplicaSet", "CronJob": "Job", "Notebook": "StatefulSet"}
Object = dict[str, Any]


def pod_of(owner: Object, made: Pod) -> Object:
    """A pod as the object's controller makes it.

    That of notebooks hands on labels, that of training jobs sets PET_NPROC_PER_NODE, and Volcano's
    mounts the volumes of its job.
    """
    kind = owner["kind"]
    labels = owner["metadata"].get("labels", {}) if kind == "Notebook" else {}
    spec = dict(made.spec)
    containers: list[Any] = list(made.containers)
    if kind in ("PyTorchJob", "TrainingRuntime"):
        processes = owner["spec"].get("nprocPerNode", "auto")
        variable = {"name": "PET_NPROC_PER_NODE", "value": str(processes)}
        spec["containers"] = [
            {**each, "env": [*(each.get("env") or []), variable]} for each in containers
        ]
    if "volcano.sh" in owner["apiVersion"]:
        mounts = [
            {"name": "of-job", "mountPath": each["mountPath"]}
            for each in owner["spec"].get("volumes") or []
        ]
        spec["containers"] = [
            {**each, "volumeMounts": [*(each.get("volumeMounts") or []), *mounts]}
            for each in containers
        ]
    of = "apps/v1" if kind == "Notebook" else owner["apiVersion"]
    reference = {"apiVersion": of, "kind": OWNERS.get(kind, kind), "name": "train-1"}
    metadata = {
        "name": "train-1-a",
        "labels": {**labels, **made.labels},
        "annotations": dict(made.annotations),
        "ownerReferences": [{**reference, "controller": True}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def good() -> Iterator[tuple[str, Object]]:
    """The pods of each good object that makes some; Argo's have a shape of their own."""
    for case in CASES:
        owner = case.manifest
        if case.malformed or owner["kind"] == "Pod" or "argoproj.io" in owner["apiVersion"]:
            continue
        for made in pods(owner) if not planned(owner) else ():
            yield case.id, pod_of(owner, made)


GOOD = list(good())


def test_there_are_pods_of_every_kind_of_owner() -> None:
    assert {"ReplicaSet", "StatefulSet", "DaemonSet", "Job", "PyTorchJob"} <= {
        pod["metadata"]["ownerReferences"][0]["kind"] for _, pod in GOOD
    }


@pytest.mark.parametrize("pod", [pod for _, pod in GOOD], ids=[name for name, _ in GOOD])
def test_a_pod_of_a_good_object_is_good(pod: Object) -> None:
    assert planned(pod, by_controller=True) == {}
