"""The nearest pod that is admitted, and the largest ones."""

from dataclasses import replace

import pytest

from hardware.catalogue import load, names
from ignition.plan.numa_plan import plan
from ignition.plan.tuning import Tuning
from ignition.shapes.admission import admit
from ignition.shapes.nearest import Shape, largest, largest_on, nearest
from ignition.shapes.node import FULL_CORES, ContainerRequest, ShapeError
from ignition.shapes.node_of_plan import from_plan
from tests.support.ignition.shape_nodes import GIB, ask, dgx, small

WHOLE = (216, 2035 * GIB)
ONE_NUMA_NODE = (108, 2035 * GIB // 2)


def test_an_admitted_pod_is_its_own_nearest() -> None:
    found = nearest(dgx("single-numa-node"), ask(4, 96, 800))

    assert found is not None
    assert found.request == ask(4, 96, 800)
    assert found.changes == ()


def test_fewer_gpus_are_given_up_before_anything_else_is_kept() -> None:
    found = nearest(dgx("single-numa-node"), ask(8, 96, 800))

    assert found is not None
    assert found.changes == ("4 GPUs instead of 8",)


def test_gpus_stay_where_more_cpus_and_memory_make_the_pod_fit() -> None:
    found = nearest(dgx("restricted"), ask(8, 96, 800))

    assert found is not None
    assert found.request == ContainerRequest(gpus=8, cpus=114, memory_mib=ONE_NUMA_NODE[1] + 1)


def test_half_a_core_is_rounded_to_the_nearer_whole_one_and_down_between_two() -> None:
    found = nearest(dgx("single-numa-node"), ask(1, 7, 10))

    assert found is not None
    assert found.changes == ("6 CPUs instead of 7",)


def test_a_request_above_the_nodes_offer_is_cut_to_the_offer() -> None:
    found = nearest(dgx("best-effort"), ask(9, 300, 3000, hugepages_1gi=4))

    assert found is not None
    assert found.request == ContainerRequest(gpus=8, cpus=216, memory_mib=2035 * GIB)


def test_the_nearest_aligned_pod_is_found_under_a_policy_that_does_not_insist() -> None:
    node = dgx("best-effort")

    found = nearest(node, ask(8, 96, 800), aligned=True)

    assert found is not None
    assert found.request.cpus == 114
    assert admit(node, [found.request]).aligned
    assert nearest(replace(node, policy="none"), ask(8, 96, 800), aligned=True) is None


@pytest.mark.parametrize("policy", ["restricted", "single-numa-node"])
def test_no_admitted_pod_is_nearer_than_the_nearest(policy: str) -> None:
    """All pods of a small node are tried."""
    node = small(policy)  # type: ignore[arg-type]  # the parameter is one of the policies
    every = [
        ContainerRequest(gpus=gpus, cpus=cpus, memory_mib=mib)
        for gpus in range(5)
        for cpus in range(1, 13)
        for mib in (1, 600, GIB, GIB + 1, 1500, 2 * GIB)
    ]
    admitted = [request for request in every if admit(node, [request]).admitted]

    for wanted in (ask(4, 3, 0.5), ask(3, 9, 1), ask(1, 12, 0.5), ask(2, 7, 2)):
        found = nearest(node, wanted)
        assert found is not None

        def far(
            one: ContainerRequest, wanted: ContainerRequest = wanted
        ) -> tuple[float, float, float]:
            return (
                abs(one.gpus - wanted.gpus),
                abs(one.cpus - wanted.cpus),
                abs(one.memory_mib - wanted.memory_mib),
            )

        assert far(found.request) <= min(far(one) for one in admitted)


def test_a_pod_without_gpus_is_not_given_any() -> None:
    found = nearest(dgx("restricted"), ask(0, 110, 10))

    assert found is not None
    assert found.changes == ("108 CPUs instead of 110",)


def test_the_largest_pods_of_a_dgx_by_number_of_gpus() -> None:
    assert largest_on(dgx("single-numa-node")) == tuple(
        Shape(n, *ONE_NUMA_NODE) for n in (1, 2, 3, 4)
    )
    assert largest_on(dgx("restricted")) == (
        *(Shape(n, *ONE_NUMA_NODE) for n in (1, 2, 3, 4)),
        *(Shape(n, *WHOLE) for n in (5, 6, 7, 8)),
    )
    assert largest_on(dgx("best-effort")) == tuple(Shape(n, *WHOLE) for n in range(1, 9))
    assert largest_on(dgx("best-effort"), aligned=True) == largest_on(dgx("restricted"))


def test_a_node_that_aligns_nothing_has_no_aligned_pods() -> None:
    assert largest_on(dgx("none"), aligned=True) == ()


@pytest.mark.parametrize("name", names())
def test_every_machine_of_the_catalogue_takes_its_largest_pods_and_no_larger_ones(
    name: str,
) -> None:
    hardware = load(name)
    made = plan(hardware, Tuning(), "inference")
    node = from_plan(hardware, made)

    shapes = largest(hardware, made)

    assert shapes
    for gpus, cpus, mib in shapes:
        assert admit(node, [ContainerRequest(gpus=gpus, cpus=cpus, memory_mib=mib)]).admitted
        assert not admit(
            node, [ContainerRequest(gpus=gpus, cpus=cpus, memory_mib=mib + 1)]
        ).admitted
        assert not admit(
            node, [ContainerRequest(gpus=gpus, cpus=cpus + 2, memory_mib=mib)]
        ).admitted


def test_a_node_is_made_from_the_kubelet_of_the_plan() -> None:
    hardware = load("dgx-h200")
    node = from_plan(hardware, plan(hardware, Tuning(largest_pod_gpus=4), "training"))

    assert (node.policy, node.scope, node.memory_manager) == ("single-numa-node", "pod", True)
    assert node.cpu_options == {FULL_CORES}
    assert node.cells[1].gpus == (4, 5, 6, 7)
    assert node.cells[1].distances == (21, 10)


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("cpuManagerPolicy", "none", "cpuManagerPolicy: none"),
        ("topologyManagerPolicy", "strict", "topologyManagerPolicy: strict"),
        ("topologyManagerPolicyOptions", {"near": "true"}, "near not known"),
        ("cpuManagerPolicyOptions", {"align-by-socket": "true"}, "align-by-socket not known"),
    ],
)
def test_a_kubelet_setting_that_is_not_understood_is_refused(
    field: str, value: object, sentence: str
) -> None:
    hardware = load("dgx-h200")
    made = plan(hardware, Tuning(), "training")

    with pytest.raises(ShapeError, match=sentence):
        from_plan(hardware, replace(made, kubelet={**made.kubelet, field: value}))
