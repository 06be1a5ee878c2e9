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
