"""Pods in the namespaces of queues, and what a rule says of them."""

from typing import Any

from policies.language.facts import KEY, Facts, Queue
from policies.language.rule import Rule
from tests.support.policies.gpu_pods import gpu_container
from tests.support.policies.machines import Resource

RESEARCH = Queue(name="research", gpus=16, priorities=["research", "interactive"])
RENTED = Queue(name="rented", gpus=8, reclaimable=False)
FACTS: Facts = {"pools": [], "queues": [RESEARCH, Queue(name="burst", gpus=8), RENTED]}


def said(rule: Rule, manifest: Resource, **settings: object) -> list[str]:
    assert rule.predicate is not None
    return rule.predicate(manifest, {**rule.defaults(), **settings, KEY: FACTS})


def pod(namespace: str | None = "research", **spec: Any) -> Resource:
    metadata = {"name": "p", **({} if namespace is None else {"namespace": namespace})}
    containers = [gpu_container()]
    spec = {"containers": containers, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def deployment(**spec: Any) -> Resource:
    found = pod(**spec)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": found["metadata"],
        "spec": {"template": {"spec": found["spec"]}},
    }
