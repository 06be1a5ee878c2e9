"""Which pods an empty node admits, and how it says why."""

from dataclasses import replace

import pytest

from ignition.shapes.admission import admit
from ignition.shapes.node import POLICIES, ContainerRequest, Policy, ShapeError
from tests.support.ignition.shape_nodes import GIB, ask, dgx, small


def test_single_numa_node_refuses_a_pod_with_the_gpus_of_both_numa_nodes() -> None:
    admission = admit(dgx("single-numa-node"), [ask(8, 96, 800)])

    assert not admission.admitted
    assert admission.reason == "TopologyAffinityError"
    assert "8 GPUs need NUMA nodes 0-1" in admission.why
    assert "96 CPUs fit one of the NUMA nodes 0-1" in admission.why


def test_single_numa_node_takes_four_gpus_with_all_free_cpus_of_their_numa_node() -> None:
    admission = admit(dgx("single-numa-node"), [ask(4, 108, 1000)])

    assert admission.admitted
    assert admission.numa_nodes == (0,)
    assert admission.shares[0].cpus == "2-55,114-167"
    assert admission.shares[0].gpus == (0, 1, 2, 3)


@pytest.mark.parametrize("cpus", [110, 112])
@pytest.mark.parametrize("policy", ["restricted", "single-numa-node"])
def test_cpus_that_would_fit_one_numa_node_without_its_reserved_ones_fit_nowhere(
    policy: Policy, cpus: int
) -> None:
    """Kubelet counts reserved CPUs when it decides how many NUMA nodes are enough."""
    admission = admit(dgx(policy), [ask(0, cpus, 10)])

    assert admission.reason == "TopologyAffinityError"
    assert "kubelet, which counts reserved and used ones too, wants fewer" in admission.why


def test_restricted_takes_eight_gpus_when_cpus_and_memory_need_both_numa_nodes_too() -> None:
    node = dgx("restricted")

    assert admit(node, [ask(8, 96, 1200)]).reason == "TopologyAffinityError"
    assert admit(node, [ask(8, 114, 800)]).reason == "TopologyAffinityError"
    assert admit(node, [ask(8, 114, 1200)]).numa_nodes == (0, 1)


def test_best_effort_takes_what_it_cannot_align_and_says_so() -> None:
    admission = admit(dgx("best-effort"), [ask(8, 96, 800)])

    assert admission.admitted
    assert not admission.aligned
    assert admission.why.startswith("best-effort takes it, but not aligned: 8 GPUs need")


def test_cpus_that_fit_one_numa_node_come_from_one_even_when_they_are_to_be_distributed() -> None:
    admission = admit(dgx("best-effort"), [ask(8, 96, 800)])

    assert admission.shares[0].cpus == "2-49,114-161"


def test_cpus_beyond_one_numa_node_come_evenly_from_both() -> None:
    admission = admit(dgx("best-effort"), [ask(8, 120, 1200)])

    assert admission.aligned
    assert admission.shares[0].cpus == "2-31,58-87,114-143,170-199"


@pytest.mark.parametrize("policy", POLICIES)
def test_half_a_core_is_refused_by_every_policy(policy: Policy) -> None:
    admission = admit(dgx(policy), [ask(1, 7, 10)])

    assert admission.reason == "SMTAlignmentError"
    assert "whole cores of 2 threads" in admission.why


def test_more_than_the_node_offers_is_never_scheduled() -> None:
    admission = admit(dgx("best-effort"), [ask(9, 300, 100)])

    assert admission.reason == "Insufficient"
    assert "216 of the 300 CPUs and 8 of the 9 GPUs" in admission.why


def test_memory_kept_as_huge_pages_is_no_other_memory() -> None:
    node = dgx("single-numa-node", pages=400)

    assert admit(node, [ask(4, 96, 600, hugepages_1gi=400)]).admitted
    assert admit(node, [ask(4, 96, 700)]).reason == "TopologyAffinityError"
    assert admit(node, [ask(4, 96, 600, hugepages_1gi=401)]).reason == "TopologyAffinityError"
    assert admit(node, [ask(4, 96, 600, hugepages_1gi=801)]).reason == "Insufficient"


def test_a_pod_that_is_not_guaranteed_is_aligned_by_its_gpus_alone() -> None:
    admission = admit(dgx("single-numa-node"), [ContainerRequest(gpus=4, memory_mib=1500 * GIB)])

    assert admission.admitted
    assert admission.shares[0].cpus == ""


def test_a_fraction_of_a_cpu_is_shared_but_its_memory_is_aligned() -> None:
    admission = admit(dgx("single-numa-node"), [ask(0, 0.5, 10)])

    assert admission.shares[0].cpus == ""
    assert admission.shares[0].memory == (0,)


def test_the_scope_of_containers_places_each_where_it_fits() -> None:
    pod = [ask(2, 6, 0.5), ask(2, 6, 0.5)]
    node = small("single-numa-node")

    apart = admit(replace(node, scope="container"), pod)

    assert [share.hint for share in apart.shares] == [(0,), (1,)]
    assert admit(node, pod).reason == "TopologyAffinityError"


def test_init_containers_lend_their_gpus_and_cpus_to_the_others() -> None:
    first = replace(ask(2, 2, 0.5), kind="init")
    admission = admit(small("single-numa-node"), [ask(2, 4, 0.5), first])

    assert admission.admitted
    assert admission.shares[0].gpus == admission.shares[1].gpus
    assert admission.shares[1].cpus == "1,9"
    assert admission.shares[0].cpus == "1-2,9-10"


def test_an_init_container_that_takes_every_core_leaves_none_for_full_cores() -> None:
    """Kubelet 1.36 forgets that the cores come back when it counts whole ones."""
    first = replace(ask(0, 12, 0.5), kind="init")
    admission = admit(small("best-effort"), [ask(0, 12, 0.5), first])

    assert admission.reason == "SMTAlignmentError"
    assert "available physical CPUs = 0" in admission.why


def test_sidecars_keep_what_they_have() -> None:
    beside = replace(ask(2, 2, 0.2), kind="sidecar")

    assert admit(small("single-numa-node"), [ask(1, 2, 0.2), beside]).reason != ""
    assert admit(small("best-effort"), [ask(1, 2, 0.2), beside]).shares[0].gpus == (2,)


def test_a_numa_node_that_serves_a_group_serves_no_pod_of_its_own() -> None:
    node = replace(small("best-effort"), scope="container")
    admission = admit(node, [ask(0, 2, 1.5), ask(0, 2, 0.25)])

    assert admission.shares[0].memory == (0, 1)
    assert admission.shares[1].memory == (0, 1)


def test_the_nearest_of_equally_many_numa_nodes_are_taken_where_that_is_asked_for() -> None:
    far = ((10, 21, 12, 21), (21, 10, 21, 12), (12, 21, 10, 21), (21, 12, 21, 10))
    node = small("best-effort", numa_nodes=4)
    cells = [replace(cell, distances=row) for cell, row in zip(node.cells, far, strict=True)]
    node = replace(node, cells=tuple(cells))
    pod = [ask(4, 10, 1.5)]

    assert admit(node, pod).numa_nodes == (0, 1)
    assert admit(replace(node, prefer_closest=True), pod).numa_nodes == (0, 2)


def test_kubelet_does_not_start_on_more_numa_nodes_than_it_allows() -> None:
    node = small("restricted", numa_nodes=9)

    assert admit(node, [ask(1, 2, 0.5)]).reason == "KubeletDoesNotStart"
    assert admit(replace(node, max_numa_nodes=9), [ask(1, 2, 0.5)]).admitted
    assert admit(replace(node, policy="none"), [ask(1, 2, 0.5)]).admitted


def test_a_kubelet_that_would_go_round_for_ever_is_said_to() -> None:
    """Kubelet 1.36.3 does not return: reserved threads leave half cores that look free."""
    node = small("none", numa_nodes=4)
    node = replace(node, reserved_cpus=frozenset({1, 9, 12, 13}))

    assert admit(node, [ask(0, 20, 1)]).admitted
    assert admit(node, [ask(0, 22, 1)]).reason == "KubeletHangs"


def test_a_negative_request_is_no_request() -> None:
    with pytest.raises(ShapeError, match="gpus: -1 is negative"):
        ContainerRequest(gpus=-1)
