"""Whose pods with GPUs are in the namespace of a queue."""

from typing import Any

import pytest

from policies.rules.idle import queue_scheduler
from tests.support.policies.queue_pods import deployment, pod, said


@pytest.mark.parametrize("of", [pod, deployment])
def test_a_pod_with_gpus_in_a_queue_is_volcanos(of: Any) -> None:
    for own in ({"schedulerName": "volcano"}, {}, {"schedulerName": "default-scheduler"}):
        assert said(queue_scheduler.RULE, of(**own)) == [], "Volcano's webhook gives it the name"
    (sentence,) = said(queue_scheduler.RULE, of(schedulerName="mine"))
    assert "must have schedulerName: volcano or none in the namespace of queue" in sentence
    without = of(containers=[{"name": "c"}], schedulerName="mine")
    assert said(queue_scheduler.RULE, without) == []
    assert said(queue_scheduler.RULE, of(namespace="elsewhere", schedulerName="mine")) == []
