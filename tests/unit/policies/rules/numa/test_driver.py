"""The rule on pools with the drivers that Flatcar publishes, and with others."""

import pytest

from policies.rules.numa.driver import RULE
from tests.support.ignition.nodes import OWN_DRIVER, OWN_FABRIC_MANAGER
from tests.support.policies.shipped_pools import edited, file, pool, told

SYSEXTS = "/etc/flatcar/enabled-sysext.conf"
PUBLISHED = "enable a NVIDIA driver that Flatcar publishes: 535, 550, 570, for amd64 alone"


def said(
    hardware: str, driver: str, sharing: str = "whole", flatcar: str = "4593.2.5"
) -> list[str]:
    found = pool(hardware, sharing=sharing, flatcar=flatcar)
    found = edited(found, file(SYSEXTS, f"nvidia-drivers-{driver}\n"))
    return [each.removeprefix("gpu:pools:BareMetalPool 'p' must ") for each in told(RULE, found)]


@pytest.mark.parametrize(
    ("hardware", "driver"),
    [
        ("dgx-h200", "570-open"),
        ("dgx-h200", "550"),
        ("dgx-h100", "535"),
        ("hgx-b200", "570-open"),
        ("gex44", "535-open"),
        ("gex131", "570-open"),
    ],
)
def test_a_driver_that_knows_the_gpu_passes(hardware: str, driver: str) -> None:
    assert said(hardware, driver) == []


@pytest.mark.parametrize("driver", ["580-open", "595", "570-closed", "", "57"])
def test_a_driver_that_flatcar_does_not_publish_is_refused(driver: str) -> None:
    assert said("dgx-h200", driver) == [f"{PUBLISHED}."]


def test_a_pool_without_any_driver_is_refused() -> None:
    assert told(RULE, edited(pool(), file(SYSEXTS, "docker-flatcar\n"))) != []


def test_a_second_driver_beside_the_first_is_refused() -> None:
    two = file(SYSEXTS, "nvidia-drivers-570-open\nnvidia-drivers-550\n")

    assert told(RULE, edited(pool(), two)) == [
        "gpu:pools:BareMetalPool 'p' must enable one NVIDIA driver alone."
    ]


def test_blackwell_has_open_modules_alone() -> None:
    for hardware, model in (
        ("hgx-b200", "NVIDIA B200"),
        ("gex131", "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"),
    ):
        assert said(hardware, "570") == [
            f"have a NVIDIA driver with open kernel modules (…-open) for {model}."
        ]


@pytest.mark.parametrize("driver", ["535-open", "550-open"])
def test_blackwell_is_known_from_570_on(driver: str) -> None:
    for hardware, model in (
        ("hgx-b200", "NVIDIA B200"),
        ("gex131", "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"),
    ):
        assert said(hardware, driver) == [
            f"have a NVIDIA driver of branch 570 or newer for {model}."
        ]
        assert said(hardware, "570-open") == []


@pytest.mark.parametrize(
    ("hardware", "driver", "wanted"),
    [
        ("dgx-h200", "535-open", "550 or newer for MIG on NVIDIA H200"),
        ("gex131", "570-open", "575 or newer for MIG on NVIDIA RTX PRO 6000 Blackwell"),
    ],
)
def test_mig_needs_a_driver_that_cuts_the_gpu(hardware: str, driver: str, wanted: str) -> None:
    assert said(hardware, driver) == []
    assert said(hardware, driver, "mig") == [f"have a NVIDIA driver of branch {wanted}."]


def test_mig_passes_from_that_driver_on() -> None:
    assert said("dgx-h200", "550-open", "mig") == []
    assert said("hgx-b200", "570-open", "mig") == []
    assert said("dgx-h100", "535", "mig") == []


@pytest.mark.parametrize("flatcar", ["4081.3.10", "4700.2.0", "latest"])
def test_a_release_whose_drivers_are_not_known_is_refused(flatcar: str) -> None:
    assert said("dgx-h200", "570-open", flatcar=flatcar) == [
        "run a release of Flatcar whose drivers are known: 4459.2.4, 4593.2.4, 4593.2.5."
    ]


def test_a_machine_without_gpus_needs_no_driver() -> None:
    assert told(RULE, pool("ccx33", "batch")) == []


def own(hardware: str, flatcar: str = "4593.2.5", sharing: str = "whole") -> list[str]:
    found = pool(
        hardware,
        driver="580-open",
        driver_extension=OWN_DRIVER,
        fabric_manager=OWN_FABRIC_MANAGER,
        flatcar=flatcar,
        sharing=sharing,
    )
    return [each.removeprefix("gpu:pools:BareMetalPool 'p' must ") for each in told(RULE, found)]


def test_an_extension_of_ones_own_for_the_release_passes() -> None:
    assert own("dgx-h200") == []
    assert own("gex131", sharing="mig") == [], "its branch knows MIG on this GPU"


def test_an_extension_of_another_release_is_refused() -> None:
    assert own("dgx-h200", flatcar="4593.2.4") == [
        "have a NVIDIA driver that is built for its Flatcar, 4593.2.4."
    ]


def test_an_extension_beside_a_driver_of_flatcar_is_refused() -> None:
    brought = pool(
        driver="580-open", driver_extension=OWN_DRIVER, fabric_manager=OWN_FABRIC_MANAGER
    )
    assert told(RULE, edited(brought, file(SYSEXTS, "nvidia-drivers-570-open\n"))) == [
        "gpu:pools:BareMetalPool 'p' must enable one NVIDIA driver alone."
    ]
