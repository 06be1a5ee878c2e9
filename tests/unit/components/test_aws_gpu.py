"""A pool of GPU instances on AWS: its NodePools, its EC2NodeClass, its reservations."""

import dataclasses
from typing import Any

import pulumi
import pytest

from components.pools.aws_gpu import reservations
from ignition.plan.tuning import Purpose
from tests.support.components.aws_pools import HUGEPAGES, booted, pool, spec
from tests.support.components.boots import boot
from tests.support.recorder import Registered, named, render


@pytest.mark.parametrize(
    ("interfaces", "efa", "warnings"), [(32, False, 1), (32, True, 0), (0, False, 0)]
)
def test_a_pool_whose_efa_interfaces_have_no_driver_is_warned_of(
    interfaces: int, *, efa: bool, warnings: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", lambda text, _resource: said.append(text))

    def program() -> None:
        made = boot("p5e.48xlarge")
        hardware = dataclasses.replace(made.pool.hardware, efa_interfaces=interfaces)
        there = dataclasses.replace(made.pool, hardware=hardware)
        pool(boot=dataclasses.replace(made, pool=there, efa=efa))()

    render(program)

    assert len(said) == warnings
    assert all(
        text.startswith(
            "pool pool: p5e.48xlarge has 32 EFA interfaces and the environment no driver for them, "
            "so traffic between nodes goes over TCP; "
        )
        for text in said
    )


def test_pods_cannot_reach_the_nodes_role() -> None:
    options = spec(render(pool()), "EC2NodeClass")["metadataOptions"]
    assert (options["httpTokens"], options["httpPutResponseHopLimit"]) == ("required", 1)


def test_karpenter_gets_the_sums_that_the_kubelet_reserves() -> None:
    plan = boot("p5e.48xlarge", tuning=HUGEPAGES).pool.plan
    told = spec(render(pool()), "EC2NodeClass")["kubelet"]
    assert told == reservations(plan)
    # 4 cores of 2 threads on each of 2 NUMA nodes; 128 pages of 1 GiB beside 8 GiB for the system
    assert told["systemReserved"] == {"cpu": "16", "memory": f"{8192 + 128 * 1024}Mi"}
    assert told["evictionHard"]["memory.available"] == "1024Mi"


def test_karpenters_figures_are_those_of_the_booted_machine() -> None:
    resources = render(pool())
    told = spec(resources, "EC2NodeClass")["kubelet"]
    node = booted(resources).node
    assert node is not None
    kept_cpus = int(node.capacity["cpu"]) - int(node.allocatable["cpu"])
    assert kept_cpus == int(told["systemReserved"]["cpu"])
    kept_mib = mib(node.capacity["memory"]) - mib(node.allocatable["memory"])
    assert kept_mib == (
        mib(told["systemReserved"]["memory"])
        + mib(told["kubeReserved"]["memory"])
        + mib(told["evictionHard"]["memory.available"])
    )


def test_karpenter_keeps_no_cpus_of_its_own() -> None:
    kube = spec(render(pool()), "EC2NodeClass")["kubelet"]["kubeReserved"]
    # of 192 CPUs its default is 470m: no pod of all 176 that the machine has would ever get one
    assert kube == {"cpu": "0", "memory": "4096Mi"}


def test_karpenter_launches_no_second_machine_while_one_waits_for_cilium() -> None:
    for name, node_pool in node_pools(render(pool())).items():
        (taint,) = node_pool["template"]["spec"]["startupTaints"]
        # what Cilium's operator sets, which Karpenter compares by key and effect
        assert taint == {"key": "node.cilium.io/agent-not-ready", "effect": "NoSchedule"}, name


def mib(quantity: str) -> int:
    units = {"Ki": 1 / 1024, "Mi": 1, "Gi": 1024}
    return round(int(quantity[:-2]) * units[quantity[-2:]])


def test_nodes_and_their_class_wait_for_karpenters_crds() -> None:
    resources = render(pool())
    found = [*named(resources, "NodePool").values(), *named(resources, "EC2NodeClass").values()]
    assert len(found) == 3
    for each in found:
        assert any(urn.endswith("::crds") for urn in each.depends_on), each.name


def node_pools(resources: list[Registered]) -> dict[str, Any]:
    """Return the spec of each NodePool by its name in the cluster."""
    found = [each.inputs for each in named(resources, "NodePool").values()]
    return {each["metadata"]["name"]: each["spec"] for each in found}  # type: ignore[index]  # objects


def test_each_capacity_type_has_a_node_pool_with_its_own_gpu_limit() -> None:
    pools = node_pools(render(pool()))
    assert set(pools) == {"pool-reserved", "pool-spot"}
    for name, gpus in (("reserved", "8"), ("spot", "16")):
        node_pool = pools[f"pool-{name}"]
        assert node_pool["limits"] == {"nvidia.com/gpu": gpus}
        wanted = {
            each["key"]: each["values"] for each in node_pool["template"]["spec"]["requirements"]
        }
        assert wanted["node.kubernetes.io/instance-type"] == ["p5e.48xlarge"]
        assert wanted["karpenter.sh/capacity-type"] == [name]


def test_reserved_capacity_is_filled_first_and_on_demand_last() -> None:
    pools = node_pools(render(pool(gpu_limits={"on-demand": 8, "spot": 8, "reserved": 8})))
    ordered = sorted(pools, key=lambda name: pools[name]["weight"], reverse=True)
    assert ordered == ["pool-reserved", "pool-spot", "pool-on-demand"]
    assert all(1 <= each["weight"] <= 100 for each in pools.values()), "Karpenter's bounds"


def test_only_the_reserved_pool_has_the_last_day_of_the_capacity_block() -> None:
    resources = render(pool(reserved_until="2027-01-31"))
    found: list[Any] = [each.inputs["metadata"] for each in named(resources, "NodePool").values()]
    assert {each["name"]: each.get("annotations") for each in found} == {
        "pool-reserved": {"fleet.gpu/reserved-until": "2027-01-31"},
        "pool-spot": None,
    }


def test_the_drives_under_scratch_do_not_count_as_ephemeral_storage() -> None:
    assert "instanceStorePolicy" not in spec(render(pool()), "EC2NodeClass")


@pytest.mark.parametrize(
    ("purpose", "policy"),
    [("training", "WhenEmpty"), ("inference", "WhenEmptyOrUnderutilized")],
)
def test_a_training_job_is_never_moved_to_save_or_to_change_a_node(
    purpose: Purpose, policy: str
) -> None:
    disruption = spec(render(pool(purpose)), "NodePool")["disruption"]
    assert (disruption["consolidationPolicy"], disruption["consolidateAfter"]) == (policy, "10m")
    allowed = {
        reason: budget["nodes"]
        for budget in disruption.get("budgets", ())
        for reason in budget["reasons"]
    }
    stays = {"Drifted": "0", "Empty": "100%"}  # of two budgets for a reason the smaller one holds
    assert allowed == (stays if purpose == "training" else {})


@pytest.mark.parametrize(("hours", "expires"), [(None, "Never"), (720, "720h")])
def test_a_node_expires_after_the_declared_hours(hours: int | None, expires: str) -> None:
    template = spec(render(pool(expire_after_hours=hours)), "NodePool")["template"]["spec"]
    assert template["expireAfter"] == expires
    assert template["terminationGracePeriod"] == "24h", "expiry waits forever without it"


def test_reservations_are_selected_where_reserved_capacity_is_bought() -> None:
    reserved = spec(render(pool()), "EC2NodeClass")
    assert reserved["capacityReservationSelectorTerms"] == [{"tags": {"fleet.gpu/pool": "pool"}}]
    spot = spec(render(pool(gpu_limits={"spot": 8})), "EC2NodeClass")
    assert "capacityReservationSelectorTerms" not in spot
