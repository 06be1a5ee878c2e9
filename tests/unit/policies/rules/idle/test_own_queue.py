"""In which queue jobs of a namespace are."""

import pytest

from policies.rules.idle import own_queue
from tests.support.policies.queue_pods import pod, said


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
