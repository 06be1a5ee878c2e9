"""In which queue jobs of a namespace are."""

import pytest

from policies.rules.idle import own_queue
from tests.support.policies.queue_pods import deployment, pod, said


@pytest.mark.parametrize(
    ("named", "namespace", "keeps"),
    [
        ("research", "research", True),
        ("default", "research", True),
        (None, "research", True),
        ("burst", "research", False),
        ("burst", "elsewhere", True),
        ("burst", None, True),
    ],
)
def test_a_job_in_a_queues_namespace_is_in_that_queue(
    named: str | None, namespace: str | None, *, keeps: bool
) -> None:
    found = pod(namespace)
    spec = {"minMember": 1, "queue": named}
    group = {**found, "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup"}
    says = "PodGroup 'p' must be in queue 'research', that of its namespace; it names 'burst'."
    assert said(own_queue.RULE, {**group, "spec": spec}) == ([] if keeps else [says])


@pytest.mark.parametrize("kind", ["RayCluster", "RayJob"])
@pytest.mark.parametrize(
    ("named", "keeps"), [("burst", False), ("research", True), ("default", True), ("", True)]
)
def test_a_cluster_of_ray_names_its_queue_by_a_label(kind: str, named: str, *, keeps: bool) -> None:
    metadata = {"name": "r", "namespace": "research", "labels": {"volcano.sh/queue-name": named}}
    cluster = {"apiVersion": "ray.io/v1", "kind": kind, "metadata": metadata, "spec": {}}
    says = f"{kind} 'r' must be in queue 'research', that of its namespace; it names 'burst'."

    assert said(own_queue.RULE, cluster) == ([] if keeps else [says])


def test_a_pod_names_its_queue_by_an_annotation() -> None:
    service = deployment()
    template = service["spec"]["template"]
    template["metadata"] = {"annotations": {"scheduling.volcano.sh/queue-name": "burst"}}
    (sentence,) = said(own_queue.RULE, service)
    assert sentence.startswith("Deployment 'p' must be in queue 'research'")

    template["metadata"]["annotations"]["scheduling.volcano.sh/queue-name"] = "research"
    assert said(own_queue.RULE, service) == []
    assert said(own_queue.RULE, deployment()) == []
