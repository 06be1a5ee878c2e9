"""The rule on plain manifests: huge pages that are there, asked for as they can be had."""

from typing import Any

import pytest

from policies.rules.numa.hugepages import RULE
from tests.support.policies.gpu_pods import container, gpu_container, on, pod, told
from tests.support.rule_facts import pool

POOLS = (pool(hugepages_1gi_mib=131072), pool("cpu", gpus=0, hugepages_2mi_mib=64))
EQUAL = "Pod 'p' must have requests equal to limits for huge pages in every container."
BIG, SMALL = "hugepages-1Gi", "hugepages-2Mi"


@pytest.mark.parametrize(
    "fields",
    [
        {"requests": {BIG: "1Gi"}},
        {"limits": {BIG: "2Gi"}, "requests": {BIG: "1Gi"}},
        {"limits": {SMALL: "4Mi"}, "requests": {SMALL: "2Mi"}},
    ],
)
def test_requests_that_differ_from_limits_are_refused(fields: dict[str, Any]) -> None:
    assert told(RULE, pod(container(**fields)), *POOLS) == [EQUAL]
    assert told(RULE, pod(container(**fields))) == [EQUAL]


@pytest.mark.parametrize(
    ("pool", "resource", "amount"),
    [("dgx", BIG, "129Gi"), ("dgx", SMALL, "2Mi"), ("cpu", BIG, "1Gi"), ("cpu", SMALL, "66Mi")],
)
def test_pages_that_the_pool_does_not_have_are_refused(
    pool: str, resource: str, amount: str
) -> None:
    (said,) = told(RULE, pod(container(limits={resource: amount}), **on(pool)), *POOLS)

    has = {"dgx": ("131072", "0"), "cpu": ("0", "64")}[pool]
    assert said == (
        f"Pod 'p' must ask for at most {has[0]}Mi of hugepages-1Gi and {has[1]}Mi of "
        f"hugepages-2Mi on pool '{pool}'."
    )


def test_pages_that_are_there_pass_with_gpus_and_without() -> None:
    assert told(RULE, pod(gpu_container(**{BIG: "128Gi"}), **on("dgx")), *POOLS) == []
    same = container(limits={SMALL: "64Mi"}, requests={SMALL: "65536Ki"})
    assert told(RULE, pod(same, **on("cpu")), *POOLS) == []
    assert told(RULE, pod(container(limits={BIG: "1Gi"})), *POOLS) == []
    assert told(RULE, pod(container(limits={BIG: 0}), **on("cpu")), *POOLS) == []


def test_no_pool_with_so_many_pages_means_no_pod() -> None:
    assert len(told(RULE, pod(container(limits={BIG: "400Gi"})), *POOLS)) == 1
    assert told(RULE, pod(container(limits={BIG: "400Gi"}))) == []


def test_pages_of_the_whole_pod_count() -> None:
    whole = {"resources": {"requests": {BIG: "1Gi"}, "limits": {BIG: "1Gi"}}}

    assert told(RULE, pod(container(), **whole, **on("cpu")), *POOLS) != []


def test_a_size_that_no_pool_has_is_refused_with_what_there_is() -> None:
    odd = container(limits={"hugepages-512Mi": "1Gi"})

    assert told(RULE, pod(odd, **on("cpu")), *POOLS) == [
        "Pod 'p' must ask for at most 0Mi of hugepages-1Gi and 64Mi of hugepages-2Mi on pool 'cpu'."
    ]
    assert told(RULE, pod(container(limits={"hugepages-512Mi": 0})), *POOLS) == []
    assert told(RULE, pod(odd)) == []
