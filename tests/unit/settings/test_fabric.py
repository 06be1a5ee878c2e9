"""The network between GPUs in the settings: EFA whole or not at all, zones, rails, variables."""

from typing import Any

import pytest

from hardware.catalogue import load
from settings.fabric import Fabric, nccl_environment
from settings.parse import parse
from settings.problems import SettingsError
from tests.support.stack_settings import EFA, config, with_efa, with_value


def mistakes(configuration: dict[str, object]) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as found:
        parse("dev", configuration)
    return found.value.mistakes


def test_efa_is_there_with_all_its_parts() -> None:
    fabric = parse("dev", with_efa()).pools["burst"].fabric
    assert fabric == Fabric(kind="efa", resource="vpc.amazonaws.com/efa", per_machine=32)


@pytest.mark.parametrize(
    ("section", "entry", "key", "says"),
    [
        (
            "pools",
            "burst",
            "zone",
            (
                "gpu-fleet:pools.burst.zone is missing, and gpu-fleet:versions.efa is given; "
                "allowed: one availability zone, because EFA traffic never crosses zones."
            ),
        ),
        (
            "sites",
            "us-east-1",
            "vpc",
            (
                "gpu-fleet:sites.us-east-1.vpc is missing, and gpu-fleet:versions.efa is given; "
                "allowed: the id of the VPC of the tagged subnets, for the security group that "
                "lets EFA traffic through."
            ),
        ),
    ],
)
def test_half_of_efa_is_refused(section: str, entry: str, key: str, says: str) -> None:
    half = with_efa()
    found: Any = half[section]
    del found[entry][key]
    assert mistakes(half) == (says,)


def test_a_vpc_without_efa_is_refused() -> None:
    (told,) = mistakes(with_value("sites/us-east-1/vpc", "vpc-0a1b2c3d"))
    assert told.startswith(
        'gpu-fleet:sites.us-east-1.vpc is "vpc-0a1b2c3d", but no pool there has EFA; '
    )


def test_the_driver_of_efa_without_a_pool_that_needs_it_is_refused() -> None:
    without_pool = with_efa()
    found: Any = without_pool["pools"]
    del found["burst"], without_pool["sites"]["us-east-1"]["vpc"]  # type: ignore[index]  # a mapping
    assert (
        f'gpu-fleet:versions.efa is "{EFA}", but no pool has EFA; allowed: with a pool on AWS '
        "with EFA interfaces alone, as nothing else needs it."
    ) in mistakes(without_pool)


def test_an_invalid_pool_may_be_the_one_that_needs_efa() -> None:
    invalid = with_efa()
    found: Any = invalid["pools"]
    found["burst"]["gpu_limits"] = {}
    assert not any("no pool has EFA; allowed: with a pool" in each for each in mistakes(invalid))


def test_a_zone_is_one_of_the_sites_region() -> None:
    assert mistakes(with_value("pools.burst.zone", "eu-north-1a")) == (
        (
            'gpu-fleet:pools.burst.zone is "eu-north-1a"; allowed: a zone of us-east-1, the '
            "region of its site."
        ),
    )


def test_rails_are_used_where_the_pool_says_what_they_are() -> None:
    assert parse("dev", config()).pools["dgx"].fabric is None
    for kind in ("infiniband", "roce"):
        fabric = parse("dev", with_value("pools.dgx.fabric", kind)).pools["dgx"].fabric
        assert fabric is not None
        assert (fabric.kind, fabric.resource, fabric.per_machine) == (kind, "rdma/rails", 8)


@pytest.mark.parametrize(
    ("fabric", "label"), [("infiniband", "infiniband"), ("roce", "roce"), (None, "none")]
)
def test_nodes_can_be_selected_by_their_wiring(fabric: str | None, label: str) -> None:
    dgx = parse("dev", with_value("pools.dgx.fabric", fabric)).pools["dgx"]
    assert dgx.node_labels["fleet.gpu/numa-nodes"] == "2"
    assert dgx.node_labels["fleet.gpu/nvswitch"] == "true"
    assert dgx.node_labels["fleet.gpu/rdma"] == label
    cpu = parse("dev", config()).pools["cpu"].node_labels
    assert (cpu["fleet.gpu/numa-nodes"], cpu["fleet.gpu/nvswitch"]) == ("1", "false")


def test_nccl_uses_the_compute_rails_by_their_exact_names() -> None:
    rails = Fabric(kind="infiniband", resource="rdma/rails", per_machine=8)
    found = nccl_environment(rails, load("dgx-h200"))
    assert found["NCCL_IB_HCA"] == ("=mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11"), (
        "mlx5_1, 2, 7 and 8 are the cards of the storage network"
    )
    assert nccl_environment(None, load("dgx-h200")) == {}


def test_queues_of_a_roce_pool_are_promised_no_rdma() -> None:
    roce = Fabric(kind="roce", resource="rdma/rails", per_machine=8)
    assert nccl_environment(roce, load("dgx-h200")) == {}, "a pod of a queue cannot use it"


def test_libfabric_takes_no_huge_pages_on_rented_machines() -> None:
    efa = Fabric(kind="efa", resource="vpc.amazonaws.com/efa", per_machine=32)
    found = nccl_environment(efa, load("p5e.48xlarge"))
    assert found == {"NCCL_SOCKET_IFNAME": "eth0", "FI_EFA_USE_HUGE_PAGE": "0"}
