"""A pool of GPU instances on AWS: its NodePools, its EC2NodeClass, its reservations."""

import dataclasses
from typing import Any

import pulumi
import pytest

from components.pools.boot import PoolBoot
from ignition.plan.tuning import Purpose
from settings.fabric import fabric_of
from settings.karpenter import reservations
from tests.support.components.aws_pools import HUGEPAGES, booted, pool, spec
from tests.support.components.boots import boot
from tests.support.recorder import Registered, named, render

ZONE = "us-east-1b"


def with_efa() -> PoolBoot:
    """The boot of a pool whose environment has the driver for EFA."""
    made = boot("p5e.48xlarge")
    fabric = fabric_of(made.pool.declared, made.pool.hardware, efa=True)
    return dataclasses.replace(made, pool=dataclasses.replace(made.pool, fabric=fabric))


def efa_pool(**changes: Any) -> list[Registered]:
    """The resources of a pool with EFA."""

    def program() -> None:
        pool(boot=with_efa(), vpc="vpc-0a1b2c3d", zone=ZONE, **changes)()

    return render(program)


@pytest.mark.parametrize(
    ("interfaces", "efa", "warnings"), [(32, False, 1), (32, True, 0), (0, False, 0)]
)
def test_a_pool_whose_efa_interfaces_have_no_driver_is_warned_of_with_its_price(
    interfaces: int, *, efa: bool, warnings: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", lambda text, _resource: said.append(text))

    def program() -> None:
        made = with_efa() if efa else boot("p5e.48xlarge")
        hardware = dataclasses.replace(made.pool.hardware, efa_interfaces=interfaces)
        there = dataclasses.replace(made.pool, hardware=hardware)
        pool(boot=dataclasses.replace(made, pool=there), zone=ZONE)()

    render(program)

    assert len(said) == warnings
    assert all(
        text.startswith(
            "p5e.48xlarge has 32 EFA interfaces and the environment no driver for them, "
            "so traffic between nodes goes over TCP: 3 GB/s of an all-reduce in place of 489 were "
            "measured on H100; "
        )
        for text in said
    )


def test_a_training_pool_whose_gangs_may_span_zones_is_warned_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", lambda text, _resource: said.append(text))

    render(pool(boot=None, purpose="training"))
    render(pool(purpose="inference"))

    assert len([text for text in said if text.startswith("without a zone Karpenter")]) == 1


def test_a_pool_in_one_zone_launches_in_no_other() -> None:
    for resources, zones in ((render(pool(zone=ZONE)), [ZONE]), (render(pool()), [])):
        for node_pool in node_pools(resources).values():
            wanted = node_pool["template"]["spec"]["requirements"]
            asked = [each for each in wanted if each["key"] == "topology.kubernetes.io/zone"]
            assert [value for each in asked for value in each["values"]] == zones


def test_each_card_of_a_machine_has_one_efa_interface_and_one_of_all_has_an_address() -> None:
    found = spec(efa_pool(), "EC2NodeClass")["networkInterfaces"]

    (primary,) = (each for each in found if each["interfaceType"] == "interface")
    assert (primary["networkCardIndex"], primary["deviceIndex"]) == (0, 0)
    efa = [each for each in found if each["interfaceType"] == "efa-only"]
    assert [each["networkCardIndex"] for each in efa] == list(range(32))
    assert [each["deviceIndex"] for each in efa] == [1] + [0] * 31


def test_efa_traffic_passes_between_the_machines_both_ways_and_from_nowhere_else() -> None:
    resources = efa_pool()
    (group,) = named(resources, "SecurityGroup").values()

    assert group.inputs["vpcId"] == "vpc-0a1b2c3d"
    for way in ("ingress", "egress"):
        rules: Any = group.inputs[way]
        (rule,) = rules
        assert (rule["protocol"], rule["self"], "cidrBlocks" in rule) == ("-1", True, False)
    selected = spec(resources, "EC2NodeClass")["securityGroupSelectorTerms"]
    assert {"name": group.inputs["name"]} in selected
    assert {"tags": {"karpenter.sh/discovery": "fleet-test"}} in selected


def test_machines_with_efa_stand_close_together() -> None:
    resources = efa_pool()
    (group,) = named(resources, "PlacementGroup").values()

    assert group.inputs["strategy"] == "cluster"
    told = spec(resources, "EC2NodeClass")["placementGroupSelector"]
    assert told == {"name": group.inputs["name"]}


def test_machines_of_a_capacity_block_have_no_placement_group_of_ours() -> None:
    resources = efa_pool(reserved_until="2027-01-31")

    assert not named(resources, "PlacementGroup")
    assert "placementGroupSelector" not in spec(resources, "EC2NodeClass")


def test_the_class_with_efa_waits_for_the_groups_that_it_selects() -> None:
    (made,) = named(efa_pool(), "EC2NodeClass").values()
    assert any(urn.endswith(("-group", "-fabric")) for urn in made.depends_on)


def test_a_pool_without_efa_has_none_of_its_parts() -> None:
    resources = render(pool(zone=ZONE))
    found = spec(resources, "EC2NodeClass")

    assert not {"networkInterfaces", "placementGroupSelector"} & set(found)
    assert not named(resources, "SecurityGroup") | named(resources, "PlacementGroup")


def test_images_load_faster_than_gp3s_default() -> None:
    (volume,) = spec(render(pool()), "EC2NodeClass")["blockDeviceMappings"]
    disk = volume["ebs"]
    assert (disk["volumeType"], disk["throughput"]) == ("gp3", 1000)
    assert disk["throughput"] <= disk["iops"] / 4, "EBS refuses more for so few IOPS"


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


def test_node_pools_and_their_class_live_no_longer_than_the_controller_that_ends_machines() -> None:
    resources = render(pool())
    found = [*named(resources, "NodePool").values(), *named(resources, "EC2NodeClass").values()]
    assert len(found) == 3
    for each in found:
        assert "controller" in awaited(each), each.name


def test_machines_end_before_their_node_pools_and_these_before_their_class() -> None:
    resources = render(pool())
    node_pools = named(resources, "NodePool")
    (machines,) = named(resources, "RentedMachines").values()
    assert awaited(machines) >= {*node_pools}
    assert all("pool-class" in awaited(each) for each in node_pools.values())


def test_the_end_of_the_machines_is_waited_for_longer_than_the_longest_drain() -> None:
    resources = render(pool())
    (machines,) = named(resources, "RentedMachines").values()
    (grace,) = {
        spec["template"]["spec"]["terminationGracePeriod"]
        for spec in node_pools(resources).values()
    }
    assert isinstance(machines.inputs["timeout_s"], float)
    assert machines.inputs["timeout_s"] > int(grace.removesuffix("h")) * 3600
    assert machines.inputs["node_pools"] == list(node_pools(resources))


def awaited(resource: Registered) -> set[str]:
    return {urn.rsplit("::", 1)[-1] for urn in resource.depends_on}


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
