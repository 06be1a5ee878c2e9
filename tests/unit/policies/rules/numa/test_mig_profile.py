"""The rule on plain manifests: instances of MIG that a pool has."""

import pytest

from policies.rules.numa.mig_profile import RULE
from tests.support.policies.gpu_pods import KINDS, container, gpu_container, on, pod, told
from tests.support.rule_facts import pool

POOLS = (pool(), pool("serve", mig_profiles=["1g.18gb", "1g.18gb+me", "3g.71gb"]))
MIG = "nvidia.com/mig-"
OFFER = "MIG instances on pool 'serve' of its profiles 1g.18gb 1g.18gb+me 3g.71gb alone"


@pytest.mark.parametrize("kind", KINDS)
def test_a_profile_that_the_pool_does_not_have_is_refused(kind: str) -> None:
    wanted = container(limits={f"{MIG}7g.141gb": 1})

    (said,) = told(RULE, KINDS[kind]({"containers": [wanted], **on("serve")}), *POOLS)

    assert said.endswith(f" must ask for {OFFER}.")


def test_a_pool_of_whole_gpus_has_no_instance() -> None:
    wanted = pod(container(requests={f"{MIG}1g.18gb": 1}), **on("dgx"))

    assert told(RULE, wanted, *POOLS) == ["Pod 'p' must ask for no MIG instance on pool 'dgx'."]


def test_without_a_pool_one_that_has_every_profile_is_enough() -> None:
    both = pod(container(limits={f"{MIG}1g.18gb": 1, f"{MIG}3g.71gb": 1}))
    strange = pod(container(limits={f"{MIG}1g.18gb": 1, f"{MIG}2g.35gb": 1}))

    assert told(RULE, both, *POOLS) == []
    assert told(RULE, strange, *POOLS) == [
        f"Pod 'p' must ask for no MIG instance on pool 'dgx' or {OFFER}."
    ]


def test_media_engines_are_a_profile_of_their_own() -> None:
    assert told(RULE, pod(container(limits={f"{MIG}1g.18gb.me": 1}), **on("serve")), *POOLS) == []
    assert told(RULE, pod(container(limits={f"{MIG}3g.71gb.me": 1}), **on("serve")), *POOLS) != []


def test_whole_gpus_and_unknown_pools_are_left_alone() -> None:
    assert told(RULE, pod(gpu_container(), **on("serve")), *POOLS) == []
    assert told(RULE, pod(container(limits={f"{MIG}1g.18gb": 1}), **on("nobody")), *POOLS) == []
    assert told(RULE, pod(container(limits={f"{MIG}1g.18gb": 1}))) == []
