"""Whose pods with GPUs are in the namespace of a queue."""

from typing import Any

import pytest

from policies.rules.idle import queue_scheduler
from tests.support.policies.gpu_pods import gpu_container
from tests.support.policies.queue_pods import deployment, pod, said

SPARK = {"gpu": {"name": "nvidia.com/gpu", "quantity": 1}}


@pytest.mark.parametrize("of", [pod, deployment])
def test_a_pod_with_gpus_in_a_queue_is_volcanos(of: Any) -> None:
    for own in ({"schedulerName": "volcano"}, {}, {"schedulerName": "default-scheduler"}):
        assert said(queue_scheduler.RULE, of(**own)) == [], "Volcano's webhook gives it the name"
    (sentence,) = said(queue_scheduler.RULE, of(schedulerName="mine"))
    assert "must have schedulerName: volcano or none in the namespace of queue" in sentence
    without = of(containers=[{"name": "c"}], schedulerName="mine")
    assert said(queue_scheduler.RULE, without) == []
    assert said(queue_scheduler.RULE, of(namespace="elsewhere", schedulerName="mine")) == []


def in_queue(version: str, kind: str, spec: object) -> dict[str, Any]:
    metadata = {"name": "x", "namespace": "research"}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def template(**spec: object) -> dict[str, Any]:
    return {"spec": {"containers": [gpu_container()], **spec}}


def volcano(task: dict[str, Any], **spec: object) -> dict[str, Any]:
    tasks = {"tasks": [{"name": "w", "template": task}], **spec}
    return in_queue("batch.volcano.sh/v1alpha1", "Job", tasks)


def training(**spec: object) -> dict[str, Any]:
    roles = {"Worker": {"template": template(**spec)}}
    return in_queue("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": roles})


def ray(**spec: object) -> dict[str, Any]:
    groups = [{"groupName": "w", "template": template(**spec)}]
    return in_queue("ray.io/v1", "RayCluster", {"workerGroupSpecs": groups})


def predictor(**spec: object) -> dict[str, Any]:
    model = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
    found = {"predictor": {"model": model, **spec}}
    return in_queue("serving.kserve.io/v1beta1", "InferenceService", found)


def spark(executor: dict[str, Any], **spec: object) -> dict[str, Any]:
    found = {"driver": {}, "executor": {**SPARK, **executor}, **spec}
    return in_queue("sparkoperator.k8s.io/v1beta2", "SparkApplication", found)


@pytest.mark.parametrize(
    ("manifest", "pod_of_it"),
    [
        (training(schedulerName="mine"), "Worker"),
        (ray(schedulerName="mine"), "w"),
        (volcano(template(schedulerName="mine"), schedulerName="volcano"), "w"),
        (volcano(template(), schedulerName="mine"), "w"),
        (
            in_queue(
                "batch.volcano.sh/v1alpha1",
                "CronJob",
                {"jobTemplate": volcano(template(), schedulerName="mine")},
            ),
            "w",
        ),
        (predictor(schedulerName="mine"), "predictor.model"),
        (spark({"schedulerName": "mine"}), "executor"),
        (spark({"template": {"spec": {"schedulerName": "mine"}}}), "executor"),
        (spark({"schedulerName": "volcano"}, batchScheduler="mine"), "executor"),
        (spark({}, sparkConf={"spark.kubernetes.scheduler.name": "mine"}), "executor"),
        (spark({}, sparkConf={"spark.kubernetes.executor.scheduler.name": "mine"}), "executor"),
        (
            in_queue(
                "sparkoperator.k8s.io/v1beta2",
                "ScheduledSparkApplication",
                {"template": {"batchScheduler": "mine", "executor": SPARK}},
            ),
            "executor",
        ),
    ],
)
def test_another_scheduler_is_told_wherever_its_name_stands(
    manifest: dict[str, Any], pod_of_it: str
) -> None:
    (sentence,) = said(queue_scheduler.RULE, manifest)

    assert f"'x', '{pod_of_it}' must have schedulerName: volcano or none" in sentence
    assert "'mine' knows no queues" in sentence


@pytest.mark.parametrize(
    "manifest",
    [
        training(schedulerName=""),
        ray(schedulerName="volcano"),
        volcano(template(schedulerName="volcano"), schedulerName="mine"),
        predictor(),
        spark({"schedulerName": "mine"}, batchScheduler="volcano"),
        spark({}, sparkConf={"spark.kubernetes.driver.scheduler.name": "mine"}),
    ],
)
def test_the_name_that_counts_is_that_which_its_controller_takes(manifest: dict[str, Any]) -> None:
    assert said(queue_scheduler.RULE, manifest) == []


def test_the_default_scheduler_is_another_one_where_the_api_server_does_not_write_it() -> None:
    for of in (training, ray, predictor):
        (sentence,) = said(queue_scheduler.RULE, of(schedulerName="default-scheduler"))
        assert "'default-scheduler' knows no queues" in sentence
