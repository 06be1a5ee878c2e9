"""The rule on plain manifests: training apart from serving."""

from policies.rules.numa.pod_purpose import RULE
from tests.support.policies.gpu_pods import container, on, pod, told
from tests.support.rule_facts import pool

POOLS = (pool(), pool("serve", purpose="inference"))
PURPOSE = "fleet.gpu/purpose"


def test_a_served_model_on_a_training_pool_is_refused() -> None:
    served = pod(container(), labels={PURPOSE: "inference"}, **on("dgx"))

    (said,) = told(RULE, served, *POOLS)
    assert said == (
        "Pod 'p' must select a pool of its fleet.gpu/purpose, not pool 'dgx', which is for "
        "training."
    )


def test_a_purpose_that_is_selected_alone_is_the_purpose() -> None:
    selector = {"fleet.gpu/pool": "dgx", PURPOSE: "inference"}

    assert len(told(RULE, pod(container(), nodeSelector=selector), *POOLS)) == 1
    assert (
        told(RULE, pod(container(), nodeSelector={**selector, PURPOSE: "training"}), *POOLS) == []
    )


def test_nodes_of_another_purpose_are_refused_whatever_the_pool() -> None:
    node = {PURPOSE: "inference"}

    assert told(RULE, pod(container(), labels={PURPOSE: "training"}, nodeSelector=node)) == [
        "Pod 'p' must select by fleet.gpu/purpose the nodes of its label fleet.gpu/purpose."
    ]


def test_one_purpose_or_none_passes() -> None:
    training = {PURPOSE: "training"}

    assert told(RULE, pod(container(), labels=training, **on("dgx")), *POOLS) == []
    assert told(RULE, pod(container(), labels=training, nodeSelector=training), *POOLS) == []
    assert told(RULE, pod(container(), labels=training, **on("elsewhere")), *POOLS) == []
    assert told(RULE, pod(container(), labels=training), *POOLS) == []
    assert told(RULE, pod(container(), **on("dgx")), *POOLS) == []
