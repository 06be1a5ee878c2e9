"""What an object asks for at once, against its queue."""

import pytest

from policies.rules.idle.queue_size import RULE
from tests.support.policies.gpu_pods import gpu_container
from tests.support.policies.machines import Resource
from tests.support.rule_facts import queues


def said(manifest: Resource) -> list[str]:
    assert RULE.predicate is not None
    return RULE.predicate(manifest, queues(research=16))


def template(count: object = 8) -> Resource:
    return {"spec": {"containers": [gpu_container(gpus=count)]}}


def made(version: str, kind: str, spec: Resource, namespace: str | None = "research") -> Resource:
    metadata = {"name": "train", **({} if namespace is None else {"namespace": namespace})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def deployment(replicas: object, **where: str | None) -> Resource:
    return made("apps/v1", "Deployment", {"replicas": replicas, "template": template()}, **where)


def test_a_service_of_more_replicas_than_its_queue_holds_is_refused_with_both_numbers() -> None:
    assert said(deployment(2)) == []
    (sentence,) = said(deployment(500))
    assert sentence == (
        "Deployment 'train' must ask for at most the 16 GPUs of queue 'research'; all its pods "
        "together ask for 4000."
    )


@pytest.mark.parametrize("namespace", [None, "elsewhere"])
def test_an_object_in_no_known_queue_is_not_judged(namespace: str | None) -> None:
    assert said(deployment(500, namespace=namespace)) == []


def test_a_gang_that_grows_beyond_its_queue_is_told_apart_from_one_that_cannot_start() -> None:
    def gang(least: int) -> Resource:
        task = {"name": "w", "replicas": 64, "template": template()}
        spec = {"minAvailable": least, "queue": "research", "tasks": [task]}
        return made("batch.volcano.sh/v1alpha1", "Job", spec, None)

    assert "all its pods together ask for 512." in said(gang(1))[0]
    assert said(gang(3)) == [], "idle/gang-fits says that it never starts"


def test_a_job_never_has_more_pods_than_it_has_completions() -> None:
    def job(**spec: object) -> Resource:
        return made("batch/v1", "Job", {"template": template(), **spec})

    assert said(job()) == []
    assert said(job(parallelism=5000, completions=2)) == []
    assert said(job(parallelism=5000)) != []
    assert said(job(parallelism=0)) == []


def test_a_quantity_that_nobody_can_read_is_for_other_rules_to_refuse() -> None:
    spec = {"replicas": 500, "template": template("eight")}
    assert said(made("apps/v1", "Deployment", spec)) == []


def grows(*stack: Resource) -> list[str]:
    assert RULE.across is not None
    return [say for each in stack for say in RULE.across(each, queues(research=16), stack)]


def scaler(most: object, kind: str = "Deployment", **where: str) -> Resource:
    target = {"kind": kind, "name": "train"}
    spec = {"scaleTargetRef": target, "maxReplicas": most}
    return made("autoscaling/v2", "HorizontalPodAutoscaler", spec, **where)


def test_an_autoscaler_must_not_lead_a_service_beyond_its_queue() -> None:
    assert grows(deployment(1), scaler(2)) == []
    (sentence,) = grows(deployment(1), scaler(3))
    assert sentence == (
        "HorizontalPodAutoscaler 'train' must let Deployment 'train' grow to at most the 16 GPUs "
        "of queue 'research'; at spec.maxReplicas all its pods together ask for 24."
    )


def test_an_autoscaler_is_judged_by_the_object_that_it_names_alone() -> None:
    assert grows(scaler(3)) == []
    assert grows(deployment(1), scaler(3, kind="StatefulSet")) == []
    assert grows(deployment(1), scaler(3, namespace="elsewhere")) == []
    assert grows(deployment(500), scaler(500)) == [], "the service itself is refused"


def test_a_scaled_object_scales_a_deployment_unless_it_says_otherwise() -> None:
    spec = {"scaleTargetRef": {"name": "train"}, "maxReplicaCount": 3}

    (sentence,) = grows(deployment(0), made("keda.sh/v1alpha1", "ScaledObject", spec))
    assert "at spec.maxReplicaCount all its pods together ask for 24." in sentence


def ray(most: int, *, scales: bool = True) -> Resource:
    workers = [{"replicas": 1, "maxReplicas": most, "template": template()}]
    head = {"template": {"spec": {"containers": [{"name": "head"}]}}}
    return {
        "enableInTreeAutoscaling": scales,
        "headGroupSpec": head,
        "workerGroupSpecs": workers,
    }


def test_rays_own_autoscaler_counts_where_it_is_on() -> None:
    assert grows(made("ray.io/v1", "RayCluster", ray(2))) == []
    assert grows(made("ray.io/v1", "RayCluster", ray(3, scales=False))) == []
    (sentence,) = grows(made("ray.io/v1", "RayCluster", ray(3)))
    assert sentence == (
        "RayCluster 'train' must grow to at most the 16 GPUs of queue 'research'; at "
        "spec.workerGroupSpecs[].maxReplicas all its pods together ask for 24."
    )
    assert len(grows(made("ray.io/v1", "RayJob", {"rayClusterSpec": ray(3)}))) == 1


def test_an_elastic_training_job_may_have_as_many_workers_as_its_policy_says() -> None:
    def elastic(**policy: int) -> Resource:
        roles = {"Worker": {"replicas": 1, "template": template()}}
        spec = {"elasticPolicy": policy, "pytorchReplicaSpecs": roles}
        return made("kubeflow.org/v1", "PyTorchJob", spec)

    assert grows(elastic(maxReplicas=2)) == []
    assert grows(elastic(minReplicas=1)) == []
    assert "at spec.elasticPolicy.maxReplicas" in grows(elastic(maxReplicas=3))[0]
