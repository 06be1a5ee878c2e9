"""Where pods with GPUs may be."""

from policies.rules.idle import outside_queues
from tests.support.policies.queue_pods import pod, said


def test_a_pod_with_gpus_outside_every_queue_is_told_of_the_queues() -> None:
    (sentence,) = said(outside_queues.RULE, pod("default"))
    assert sentence == (
        "Pod 'p' must be in the namespace of a queue (research, burst), as it asks for GPUs; "
        "'default' belongs to none."
    )
    assert said(outside_queues.RULE, pod("default"), namespaces=["default"]) == []
    for free in ("research", "burst", "kube-system", "fleet-acceptance", None):
        assert said(outside_queues.RULE, pod(free)) == [], free
