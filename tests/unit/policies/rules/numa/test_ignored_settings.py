"""The rule on pools whose Ignition has lines that do nothing, or do harm."""

import pytest

from hardware.catalogue import names
from ignition.plan.refused_arguments import ARGUMENTS, OPTIONS, PCI
from ignition.plan.tuning import Tuning
from policies.rules.numa.ignored_settings import RULE
from tests.support.policies.shipped_pools import argument, edited, file, pool, told

MODPROBE = "/etc/modprobe.d/mine.conf"


@pytest.mark.parametrize("hardware", names())
def test_nothing_that_the_program_renders_is_ignored(hardware: str) -> None:
    tuning = Tuning(housekeeping_cores_per_numa_node=1, extra_kernel_arguments=("skew_tick=1",))

    assert told(RULE, pool(hardware, tuning=tuning)) == []


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_kernel_argument_that_does_nothing_is_told_with_reason_and_source(name: str) -> None:
    (said,) = told(RULE, edited(pool(), argument(f"{name}=4-55")))

    reason = ARGUMENTS[name]
    assert said == (
        f"gpu:pools:BareMetalPool 'p' must not set {name}: {reason.reason} ({reason.source})."
    )


def test_an_argument_is_found_in_another_spelling_and_among_others() -> None:
    (said,) = told(RULE, edited(pool(), argument("quiet nohz-full=4-55 skew_tick=1")))

    assert " must not set nohz_full: " in said


@pytest.mark.parametrize("option", PCI)
def test_an_option_of_pci_that_does_harm_is_told(option: str) -> None:
    (said,) = told(RULE, edited(pool(), argument(f"pci=realloc,{option}")))

    assert f" must not set pci={option}: " in said


@pytest.mark.parametrize("name", [*OPTIONS, "NVreg_Turbo"])
def test_an_option_that_the_nvidia_module_does_not_have_is_told(name: str) -> None:
    written = edited(pool(), file(MODPROBE, f"options nvidia NVreg_EnableMSI=1 {name}=1\n"))
    on_the_line = edited(pool(), argument(f"nvidia.{name}=1"))

    for said in (told(RULE, written), told(RULE, on_the_line)):
        assert len(said) == 1
        assert f" must not set {name}: " in said[0]


def test_settings_that_take_effect_pass() -> None:
    acting = edited(
        pool(),
        argument("pci=realloc", "mitigations=off", "nvidia.NVreg_EnableMSI=1"),
        file(MODPROBE, "# options nvidia NVreg_EnablePCIeGen4=1\noptions snd NVreg_X=1\n"),
    )

    assert told(RULE, acting) == []


@pytest.mark.parametrize("name", ["ModifyDeviceFiles", "InitializeSystemMemoryAllocations"])
def test_an_option_that_the_driver_of_flatcar_has_is_left_alone(name: str) -> None:
    assert told(RULE, edited(pool(), file(MODPROBE, f"options nvidia NVreg_{name}=0\n"))) == []
