"""Pods that go to a node past the scheduler."""

import pytest

from policies.rules.isolation.node_name import RULE
from tests.support.policies.asked import said
from tests.support.policies.gpu_pods import KINDS, container, gpu_container, pod


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "Workflow" not in kind])
def test_no_pod_names_its_node(kind: str) -> None:
    (sentence,) = said(RULE, KINDS[kind]({"containers": [container()], "nodeName": "dgx-01"}))

    assert sentence.endswith(
        " must select its node by fleet.gpu/pool or kubernetes.io/hostname, not name it by "
        "spec.nodeName, which passes the scheduler with its queues and taints."
    )


def test_a_pod_that_the_scheduler_has_bound_a_mirror_and_a_part_of_the_system_may() -> None:
    bound, mirror, system = (pod(gpu_container(), nodeName="dgx-01") for _ in range(3))
    bound["metadata"]["uid"] = "0-1"
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    system["metadata"]["namespace"] = "kube-system"

    assert [said(RULE, each) for each in (bound, mirror, system)] == [[], [], []]


def test_a_template_is_never_bound() -> None:
    job = KINDS["Job"]({"containers": [container()], "nodeName": "dgx-01"})
    job["metadata"]["uid"] = "0-1"

    assert said(RULE, job) != []


def test_labels_of_a_node_pass() -> None:
    assert said(RULE, pod(container(), nodeSelector={"kubernetes.io/hostname": "dgx-01"})) == []
