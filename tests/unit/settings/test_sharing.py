"""GPU sharing of pools: the allowed modes, and the sentence about each mistake."""

from typing import Any

import pytest

from hardware.flatcar.releases import driver_version
from settings import BareMetalPoolSettings, SettingsError, parse
from settings.versions import FLATCAR
from tests.support.stack_settings import CHECKSUM, config

MIG = {"sharing": "mig", "mig_layout": {"1g.18gb": 2, "2g.35gb": 1, "3g.71gb": 1}}
INFERENCE = {"purpose": "inference"}
DGX = "gpu-fleet:pools.dgx"


def with_pool(name: str, *changes: dict[str, Any]) -> dict[str, object]:
    configuration = config()
    pools = configuration["pools"]
    assert isinstance(pools, dict)
    for change in changes:
        pools[name] |= change
    return configuration


def mistakes(name: str, *changes: dict[str, Any], driver: str | None = None) -> tuple[str, ...]:
    configuration = with_pool(name, *changes)
    if driver is not None:
        versions = configuration["versions"]
        assert isinstance(versions, dict)
        versions["nvidia_driver"] = driver
        version = driver_version(FLATCAR, driver)
        versions["fabric_manager"] = f"https://a.example/fm-{version}.raw{CHECKSUM}"
    with pytest.raises(SettingsError) as caught:
        parse("dev", configuration)
    return caught.value.mistakes


@pytest.mark.parametrize(
    "change",
    [
        {},
        MIG,
        {"sharing": "mig", "mig_layout": {"1g.18gb": 7}},
        {"sharing": "time-slicing", "replicas": 4},
        {"sharing": "mps", "replicas": 2},
    ],
)
def test_an_inference_pool_may_have_every_sharing_mode(change: dict[str, Any]) -> None:
    pool = parse("dev", with_pool("dgx", INFERENCE, change)).pools["dgx"].declared
    assert isinstance(pool, BareMetalPoolSettings)
    assert pool.sharing == change.get("sharing", "whole")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (MIG, "MIG instances have neither NVLink nor CUDA IPC between them"),
        ({"sharing": "time-slicing", "replicas": 4}, "whose memory they share without protection"),
        ({"sharing": "mps", "replicas": 2}, "a client gets a share of one GPU"),
    ],
)
def test_training_gets_whole_gpus(change: dict[str, Any], reason: str) -> None:
    (mistake,) = mistakes("dgx", change)
    assert mistake.startswith(f'{DGX}.sharing is "{change["sharing"]}"; allowed for purpose train')
    assert reason in mistake


def test_a_pool_on_aws_is_not_shared_because_karpenter_counts_whole_gpus() -> None:
    (mistake,) = mistakes("burst", INFERENCE, MIG)
    assert mistake.startswith('gpu-fleet:pools.burst.sharing is "mig"; allowed: whole, because Kar')


def test_mps_on_mig_is_refused() -> None:
    (mistake,) = mistakes("dgx", INFERENCE, MIG, {"replicas": 2})
    assert mistake.startswith(f"{DGX}.replicas is 2, but sharing is mig: MPS does not work on MIG")


@pytest.mark.parametrize(
    ("layout", "fault"),
    [
        ({"1g.5gb": 7}, "NVIDIA H200 has no profile 1g.5gb; it has 1g.18gb, "),
        ({"3g.70gb": 2}, "NVIDIA H200 has no profile 3g.70gb"),
        ({"1g.35gb": 5}, "NVIDIA H200 has at most 4 instances of 1g.35gb, not 5"),
        ({"3g.71gb": 2, "1g.18gb": 1}, "need 7 compute and 9 memory slices"),
        ({"4g.71gb": 1, "3g.71gb": 1, "1g.18gb": 1}, "need 8 compute and 9 memory slices"),
    ],
)
def test_a_layout_that_the_gpu_cannot_make_is_refused(layout: dict[str, int], fault: str) -> None:
    (mistake,) = mistakes("dgx", INFERENCE, {"sharing": "mig", "mig_layout": layout})
    assert mistake.startswith(f"{DGX}.mig_layout cannot be made: ")
    assert fault in mistake


@pytest.mark.parametrize(
    ("change", "field"),
    [({"sharing": "mig"}, "mig_layout"), ({"sharing": "mps"}, "replicas")],
)
def test_a_sharing_mode_without_its_setting_is_refused(change: dict[str, Any], field: str) -> None:
    (mistake,) = mistakes("dgx", INFERENCE, change)
    assert mistake.startswith(f"{DGX}.{field} is missing; allowed: ")


def test_mig_wants_a_driver_that_knows_the_gpu() -> None:
    (mistake,) = mistakes("dgx", INFERENCE, MIG, driver="535-open")
    assert 'versions.nvidia_driver is "535-open"; allowed: 550 or newer' in mistake
