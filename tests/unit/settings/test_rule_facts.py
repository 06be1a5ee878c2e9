"""What the rules are told of an environment's pools, and what an environment may say instead."""

import pytest

from policies.environment import parse
from tests.support.stack_settings import config
from tests.unit.settings.test_sharing import MIG, with_pool


def told(rule: str, configuration: dict[str, object]) -> object:
    (found,) = (each for each in parse("dev", configuration).rules if each.rule.id == rule)
    return found.settings["pools"]


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("numa/mig-profile", "dgx"),
        ("numa/cuda-version", "dgx 570 12"),
        ("numa/gpu-memory", "dgx 144384"),
        ("numa/gpudirect", "dgx rdma"),
        ("numa/pod-purpose", "dgx training"),
    ],
)
def test_rules_know_the_pools_without_being_told(rule: str, line: str) -> None:
    found = told(rule, config())

    assert isinstance(found, list)
    assert line in found


def test_instances_of_mig_take_the_place_of_gpus() -> None:
    cut = with_pool("dgx", MIG, {"purpose": "inference"})

    assert "dgx 1g.18gb 2g.35gb 3g.71gb" in str(told("numa/mig-profile", cut))
    assert "'dgx " not in str(told("numa/gpu-memory", cut))


def test_gpus_that_are_handed_out_repeatedly_have_their_part_of_the_memory() -> None:
    sliced = with_pool("dgx", {"sharing": "time-slicing", "replicas": 4, "purpose": "inference"})

    assert "'dgx 36096'" in str(told("numa/gpu-memory", sliced))


def test_rdma_of_aws_needs_the_driver_that_the_environment_names() -> None:
    assert "'burst none'" in str(told("numa/gpudirect", config()))
    with_efa = config()
    versions = with_efa["versions"]
    assert isinstance(versions, dict)
    versions["efa"] = "https://images.fleet.example/sysext/efa-4593.2.5.raw"

    assert "'burst rdma'" in str(told("numa/gpudirect", with_efa))


def test_settings_of_an_environment_go_before_derived_facts() -> None:
    said = {**config(), "policies": {"numa/gpudirect": {"pools": ["dgx none"]}}}

    assert told("numa/gpudirect", said) == ["dgx none"]
