"""What a pool cannot choose, in sentences: placebos, harm, and what the machine cannot carry."""

import dataclasses
from typing import Any

import pytest

from hardware.catalogue import load, names
from ignition.plan.numa_plan import PlanError, plan
from ignition.plan.refused_arguments import ARGUMENTS, KNOWN, OPTIONS, OWNED, PCI, REAL_OPTIONS
from ignition.plan.tuning import Purpose, Tuning

ONE_CORE = Tuning(housekeeping_cores_per_numa_node=1)


def refusal(machine: str = "dgx-h200", purpose: Purpose = "training", **choices: Any) -> str:
    with pytest.raises(PlanError) as caught:
        plan(load(machine), dataclasses.replace(ONE_CORE, **choices), purpose)
    return str(caught.value)


def arguments(*extra: str) -> str:
    return refusal(extra_kernel_arguments=extra)


@pytest.mark.parametrize(
    "argument",
    [
        "nohz_full=4-55",
        "rcu_nocbs=4-55",
        "rcu-nocbs=4-55",
        "rcu_nocb_poll",
        "pcie_acs_override=downstream,multifunction",
        "pcie_acs=off",
        "nohz=on",
    ],
)
def test_an_argument_that_does_nothing_is_refused_with_reason_and_source(argument: str) -> None:
    sentence = arguments(argument)
    assert sentence.startswith(f"tuning.extra_kernel_arguments[0]: {argument} is refused: ")
    assert "(https://" in sentence


@pytest.mark.parametrize(
    ("argument", "because"),
    [
        ("pci=noaer", "hides the PCIe errors"),
        ("pci=realloc,noaer", "hides the PCIe errors"),
        ("pci=nomsi", "interrupt vectors"),
        ("nosmt", "CPUs that are not there"),
        ("mitigations=auto,nosmt", "CPUs that are not there"),
        ("maxcpus=8", "CPUs that are not there"),
        ("numa=off", "memory of the NUMA nodes"),
        ("idle=poll", "intel_idle"),
        ("flatcar.first_boot=1", "first boot"),
        ("flatcar.autologin", "logs in whoever reaches the console"),
        ("crashkernel=1G", "no service loads a second kernel"),
        ("panic=0", "stand until somebody resets it"),
    ],
)
def test_an_argument_that_does_harm_is_refused(argument: str, because: str) -> None:
    assert because in arguments(argument)


@pytest.mark.parametrize("name", OWNED)
def test_an_argument_of_the_plan_is_refused_with_what_decides_it(name: str) -> None:
    assert f"the plan decides it; use {OWNED[name]}" in arguments(f"{name}=1")


def test_an_argument_that_nobody_knows_is_refused_with_the_known_ones() -> None:
    assert "not known to act on the stock Flatcar kernel; known: audit" in arguments("turbo=max")


@pytest.mark.parametrize("argument", ["skew tick=1", "", "a=b c", 'x="1"', "=1"])
def test_what_is_not_one_word_is_refused(argument: str) -> None:
    assert "is not one word" in arguments(argument)


def test_an_argument_is_given_once() -> None:
    assert "extra_kernel_arguments[1]: panic is given twice" in arguments("panic=1", "panic=2")


def test_an_option_of_the_driver_does_not_go_to_the_kernel() -> None:
    assert "extra_module_options" in arguments("nvidia.NVreg_EnableMSI=1")


def test_the_tables_do_not_contradict_each_other() -> None:
    tables = [set(ARGUMENTS), set(OWNED), set(KNOWN)]
    assert len(set().union(*tables)) == sum(map(len, tables))
    assert not set(OPTIONS) & set(REAL_OPTIONS)
    reasons = [*ARGUMENTS.values(), *PCI.values(), *OPTIONS.values()]
    assert all(reason.reason and reason.source.startswith("https://") for reason in reasons)


@pytest.mark.parametrize("argument", ["skew_tick=1", "mitigations=off", "pci=realloc", "panic=30"])
def test_a_real_argument_is_written_with_its_reason(argument: str) -> None:
    planned = plan(
        load("dgx-h200"),
        dataclasses.replace(ONE_CORE, extra_kernel_arguments=(argument,)),
        "batch",
    )
    assert planned.kernel_arguments[-1] == argument
    assert "extra_kernel_arguments" in planned.reasons[argument].reason


@pytest.mark.parametrize("name", OPTIONS)
def test_an_invented_or_dead_driver_option_is_refused(name: str) -> None:
    sentence = refusal(extra_module_options=(f"{name}=1",))
    assert sentence.startswith(f"tuning.extra_module_options[0]: {name}=1 is refused: ")
    assert "nv-reg.h" in sentence


def test_an_unknown_driver_option_is_refused_with_the_real_ones() -> None:
    sentence = refusal(extra_module_options=("NVreg_EnableTurbo=1",))
    assert "no such parameter" in sentence
    assert "NVreg_RestrictProfilingToAdminUsers" in sentence


@pytest.mark.parametrize("option", ["NVreg_EnableMSI", "options nvidia NVreg_EnableMSI=1", "x=1"])
def test_a_malformed_driver_option_is_refused(option: str) -> None:
    assert "no option of the nvidia module" in refusal(extra_module_options=(option,))


def test_a_driver_option_is_given_once() -> None:
    options = ("NVreg_EnableMSI=1", "NVreg_EnableMSI=0")
    assert "given twice" in refusal(extra_module_options=options)


def test_a_machine_without_gpu_takes_nothing_of_gpus() -> None:
    assert "has no GPU" in refusal("ccx33", extra_module_options=("NVreg_EnableMSI=1",))
    assert "has no GPU" in refusal("ccx33", largest_pod_gpus=1)


@pytest.mark.parametrize("gpus", [0, -1, 9])
def test_a_largest_pod_beyond_the_machine_is_refused(gpus: int) -> None:
    assert f"{gpus} of the 8 GPUs of dgx-h200; allowed is 1 to 8" in refusal(largest_pod_gpus=gpus)


@pytest.mark.parametrize("choice", [{"iommu": "vfio"}, {"iommu": "off"}, {"power": "performance"}])
@pytest.mark.parametrize("machine", [name for name in names() if load(name).virtual])
def test_a_guest_cannot_decide_what_its_host_decides(machine: str, choice: dict[str, Any]) -> None:
    assert "is a guest, whose host decides it" in refusal(machine, **choice)


def test_real_time_needs_cpus_that_nobody_shares() -> None:
    needs = "needs tuning.isolation: exclusive and purpose: realtime"
    assert needs in refusal(realtime=True)
    advised = dataclasses.replace(ONE_CORE, realtime=True, isolation="exclusive")
    assert plan(load("dgx-h200"), advised, "realtime").sysctls["kernel.sched_rt_runtime_us"] == "-1"


def test_interrupts_do_not_come_to_cpus_that_are_kept_free_of_them() -> None:
    chosen = refusal(purpose="realtime", isolation="exclusive", irq="numa-local")
    assert "allowed is housekeeping" in chosen


@pytest.mark.parametrize("argument", ["skew_tick=1", "skew_tick=0", "nowatchdog"])
def test_what_a_realtime_plan_sets_is_not_given_again(argument: str) -> None:
    sentence = refusal(purpose="realtime", extra_kernel_arguments=(argument,))
    assert f"{argument} is refused: the plan of purpose realtime sets it" in sentence


@pytest.mark.parametrize("server", ["", "ntp one", "[Time]", "-x", "10.0.0.1230"])
def test_a_time_server_is_a_name_or_an_address(server: str) -> None:
    assert "tuning.ntp_servers[0]: " in refusal(ntp_servers=(server,))


def test_a_group_without_huge_pages_is_refused() -> None:
    assert "no huge pages to share" in refusal(hugetlb_shm_group=1000)
    pages: dict[str, Any] = {"hugepages_2mi_per_numa_node": 8}
    assert "is no group" in refusal(hugetlb_shm_group=0, **pages)
    assert "is no group" in refusal(hugetlb_shm_group=2**32 - 1, **pages)


@pytest.mark.parametrize("speed", [0, -5, 2**20 + 1])
def test_a_speed_that_no_disk_has_is_refused(speed: int) -> None:
    assert "is no speed" in refusal(background_io_mib_per_s=speed)


def test_hugepages_beyond_a_small_machine_are_refused() -> None:
    assert "MiB of NUMA node 0 of ccx33" in refusal("ccx33", hugepages_1gi_per_numa_node=31)


@pytest.mark.parametrize(
    ("chosen", "keys"),
    [
        ({"1gi": 31}, "hugepages_1gi_per_numa_node"),
        ({"2mi": 16000}, "hugepages_2mi_per_numa_node"),
        ({"1gi": 20, "2mi": 9000}, "hugepages_1gi_per_numa_node and hugepages_2mi_per_numa_node"),
    ],
)
def test_too_many_hugepages_are_refused_by_the_keys_that_ask_for_them(
    chosen: dict[str, int], keys: str
) -> None:
    tuning: dict[str, Any] = {
        f"hugepages_{size}_per_numa_node": pages for size, pages in chosen.items()
    }
    assert refusal("ccx33", **tuning).startswith(f"tuning.{keys}: ")
