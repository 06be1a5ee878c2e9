"""What the rules are told of an environment's pools, and what an environment may say instead."""

from dataclasses import replace
from typing import Any

from policies.environment import parse
from policies.facts import with_facts
from policies.language.facts import KEY
from settings import parse as settings_of
from tests.support.ignition.nodes import OWN_DRIVER, OWN_FABRIC_MANAGER
from tests.support.stack_settings import CHECKSUM, config, with_efa
from tests.unit.settings.test_sharing import MIG, with_pool


def told(name: str, configuration: dict[str, object]) -> dict[str, Any]:
    """What every rule is told of a pool."""
    rules = parse("dev", configuration).rules
    (found,) = {id(each.facts): each.facts for each in rules}.values()
    return next({**pool} for pool in found["pools"] if pool["name"] == name)


def test_rules_know_the_pools_without_being_told() -> None:
    dgx = told("dgx", config())

    assert dgx["purpose"] == "training"
    assert dgx["rdma"] == ""
    assert (dgx["driver"], dgx["newest_cuda"]) == (570, 12)
    assert dgx["gpu_memory_mib"] == 144384
    assert dgx["mig_profiles"] == []


def test_load_balancers_of_hetzner_hold_to_no_ranges() -> None:
    settings = settings_of("dev", config())
    pools = {name: each for name, each in settings.pools.items() if name != "cpu"}

    known = with_facts({}, settings)[KEY], with_facts({}, replace(settings, pools=pools))[KEY]

    assert [each["balancers_filter"] for each in known] == [False, True]


def test_instances_of_mig_take_the_place_of_gpus() -> None:
    cut = told("dgx", with_pool("dgx", MIG, {"purpose": "inference"}))

    assert cut["mig_profiles"] == ["1g.18gb", "2g.35gb", "3g.71gb"]
    assert cut["shapes"] == []
    assert "gpu_memory_mib" not in cut


def test_gpus_that_are_handed_out_repeatedly_have_their_part_of_the_memory() -> None:
    sliced = with_pool("dgx", {"sharing": "time-slicing", "replicas": 4, "purpose": "inference"})

    assert told("dgx", sliced)["gpu_memory_mib"] == 36096


def test_rdma_of_aws_needs_the_driver_that_the_environment_names() -> None:
    assert not told("burst", config())["rdma"]
    assert told("burst", with_efa())["rdma"] == "vpc.amazonaws.com/efa"


def test_a_driver_extension_says_which_cuda_runs() -> None:
    brought = config()
    brought["versions"] = {
        "nvidia_driver_extension": OWN_DRIVER + CHECKSUM,
        "fabric_manager": OWN_FABRIC_MANAGER + CHECKSUM,
    }

    dgx = told("dgx", brought)

    assert (dgx["driver"], dgx["newest_cuda"]) == (580, 13)


def test_what_an_environment_says_itself_goes_before_what_is_known() -> None:
    dgx = {**told("dgx", config()), "rdma": "rdma/hca"}
    said = {**config(), "policies": {"facts": {"pools": [dgx]}}}

    assert told("dgx", said) == dgx
