"""kubelet's own code decides on the pods of simulated nodes, and kwok runs those it admits."""

import pytest

from rehearsal.kubelet import ADMITTED
from rehearsal.nodes import MERGE, NODES, manifest
from tests.support.rehearsal.kubelets import PODS, Kubelets, cpus, machine, wait

GPU, RDMA, EFA = "nvidia.com/gpu", "rdma/rails", "vpc.amazonaws.com/efa"
NO_LOCALITY = (
    "TopologyAffinityError",
    "Pod was rejected: Resources cannot be allocated with Topology locality",
)


def test_two_pods_of_four_gpus_have_a_numa_node_each(kubelets: Kubelets) -> None:
    node = kubelets.node("dgx-h200")
    for name in ("a", "b"):
        kubelets.bind(name, node, cpu="48", memory="400Gi", **{GPU: "4", RDMA: "1"})
    first, second = kubelets.runs("a"), kubelets.runs("b")

    for given in (first, second):
        (numa,) = given["memory_numa_nodes"]
        assert given["devices"][GPU] == [f"GPU-{4 * numa + n}" for n in range(4)]
        socket = {*range(56 * numa, 56 * numa + 56), *range(112 + 56 * numa, 168 + 56 * numa)}
        assert cpus(given["cpus"]) < socket
        assert len(given["devices"][RDMA]) == 1
    assert first["memory_numa_nodes"] != second["memory_numa_nodes"]


def test_a_pod_that_no_numa_node_can_hold_fails_in_kubelets_words(kubelets: Kubelets) -> None:
    node = kubelets.node("p5en.48xlarge", purpose="inference")
    for name in ("a", "b"):
        kubelets.bind(name, node, cpu="30", **{GPU: "3"})
        kubelets.runs(name)
    kubelets.bind("across", node, cpu="4", **{GPU: "2"})
    kubelets.bind("wide", node, cpu="100")

    assert kubelets.refusal("across") == NO_LOCALITY
    assert kubelets.refusal("wide") == NO_LOCALITY
    events = kubelets.api.items("/api/v1/namespaces/default/events", fieldSelector="type=Warning")
    assert "TopologyAffinityError" in {each["reason"] for each in events}


def test_efa_is_counted_and_bound_to_no_numa_node(kubelets: Kubelets) -> None:
    node = kubelets.node("p5en.48xlarge", purpose="inference")
    kubelets.bind("a", node, cpu="8", **{GPU: "1", EFA: "9"})
    kubelets.bind("b", node, cpu="8", **{GPU: "1", EFA: "8"})

    assert len(kubelets.runs("a")["devices"][EFA]) == 9
    reason, message = kubelets.refusal("b")
    assert reason == "UnexpectedAdmissionError"
    assert f"unavailable for {EFA}. Requested: 8, Available: 7" in message


def test_cpus_and_gpus_of_a_pod_that_ended_are_given_again(kubelets: Kubelets) -> None:
    node = kubelets.node("gex44")
    kubelets.bind("a", node, cpu="14", **{GPU: "1"})
    first = kubelets.runs("a")
    ended = {"status": {"phase": "Succeeded"}}
    kubelets.api.request("PATCH", f"{PODS}/a/status", ended, headers=MERGE)
    kubelets.bind("b", node, cpu="14", **{GPU: "1"})

    assert kubelets.runs("b") == first


def test_a_kubelet_that_starts_again_keeps_what_it_gave(kubelets: Kubelets) -> None:
    node = kubelets.node("dgx-h200")
    kubelets.bind("a", node, cpu="48", memory="400Gi", **{GPU: "4"})
    first = kubelets.runs("a")
    kubelets.restart()
    kubelets.bind("b", node, cpu="48", memory="400Gi", **{GPU: "4"})
    second = kubelets.runs("b")

    assert not cpus(first["cpus"]) & cpus(second["cpus"])
    assert not set(first["devices"][GPU]) & set(second["devices"][GPU])
    kubelets.bind("c", node, cpu="16", **{GPU: "1"})
    assert kubelets.refusal("c")[0] == "UnexpectedAdmissionError"


def test_a_machine_installed_anew_begins_empty(kubelets: Kubelets) -> None:
    node = kubelets.node("gex44")
    kubelets.bind("a", node, cpu="14")
    first = kubelets.given("a")
    found = kubelets.api.get(f"{NODES}/{node}")
    assert found
    kubelets.delete("a")
    kubelets.api.delete(f"{NODES}/{node}", dependents="Background")
    metadata = {key: found["metadata"][key] for key in ("name", "labels", "annotations")}
    assert kubelets.api.create(NODES, {"metadata": metadata, "status": found["status"]})
    kubelets.bind("b", node, cpu="14")

    assert kubelets.given("b") == first


@pytest.mark.parametrize(
    ("limits", "requests", "reason", "words"),
    [
        (
            {},
            {"cpu": "17"},
            "OutOfcpu",
            "resource: cpu, requested: 17000, used: 0, capacity: 16000",
        ),
        ({}, {"memory": "1Ti"}, "OutOfmemory", "Node didn't have enough resource: memory"),
        (
            {GPU: "2"},
            {},
            "UnexpectedAdmissionError",
            "unavailable for nvidia.com/gpu. Requested: 2, Available: 1",
        ),
    ],
)
def test_what_a_node_does_not_have_is_refused_in_kubelets_words(
    kubelets: Kubelets, limits: dict[str, str], requests: dict[str, str], reason: str, words: str
) -> None:
    node = kubelets.node("gex44")
    kubelets.create("a", node, {"limits": limits, "requests": requests})

    said, message = kubelets.refusal("a")
    assert said == reason
    assert words in message


def test_a_pod_of_other_nodes_is_refused(kubelets: Kubelets) -> None:
    node = kubelets.node("gex44")
    kubelets.create("a", node, {}, nodeSelector={"fleet.gpu/site": "elsewhere"})
    kubelets.create(
        "b", node, {}, securityContext={"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}
    )

    assert kubelets.refusal("a")[0] == "NodeAffinity"
    assert kubelets.refusal("b")[0] == "SysctlForbidden"


def test_nothing_runs_on_a_machine_until_it_is_on(kubelets: Kubelets) -> None:
    made = manifest(machine("off", "gex44"), "v1.36.3")
    del made["metadata"]["annotations"]["kwok.x-k8s.io/node"]
    kubelets.api.create(NODES, made)
    kubelets.create("a", "off", {})
    kubelets.create("b", kubelets.node("gex44"), {})
    kubelets.runs("b")

    waiting = kubelets.api.get(f"{PODS}/a")
    assert waiting
    assert waiting["status"]["phase"] == "Pending"
    assert ADMITTED not in waiting["metadata"].get("annotations", {})
    on = {"metadata": {"annotations": {"kwok.x-k8s.io/node": "fake"}}}
    kubelets.api.request("PATCH", f"{NODES}/off", on, headers=MERGE)
    assert kubelets.given("a") == {}


def test_a_node_that_nothing_describes_runs_what_it_has_room_for(kubelets: Kubelets) -> None:
    has = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    metadata = {"name": "plain", "annotations": {"kwok.x-k8s.io/node": "fake"}}
    kubelets.api.create(
        NODES, {"metadata": metadata, "status": {"capacity": has, "allocatable": has}}
    )
    kubelets.create("a", "plain", {"requests": {"cpu": "3"}})
    kubelets.create("b", "plain", {"requests": {"cpu": "5"}})

    assert kubelets.runs("a") == {}
    assert kubelets.refusal("b")[0] == "OutOfcpu"


def test_the_state_of_a_node_goes_with_it(kubelets: Kubelets) -> None:
    node = kubelets.node("gex44")
    kubelets.bind("a", node, cpu="2")
    kubelets.runs("a")
    state = kubelets.directory / "kubelets" / node
    assert any(state.rglob("cpu_manager_state"))
    kubelets.delete("a")
    kubelets.api.delete(f"{NODES}/{node}")

    wait(lambda: not state.exists(), "the state files of the node go")
