"""The catalogue: every file is valid, and a wrong one is refused with its property."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from hardware.catalogue import CATALOGUE, USD_PER_EUR, HardwareError, load, names, parse, read
from hardware.cpuset import parse_list
from ignition.plan.numa_plan import PlanError, plan
from ignition.plan.tuning import Tuning

every_machine = pytest.mark.parametrize("name", names())


def entry(name: str) -> dict[str, Any]:
    value: dict[str, Any] = yaml.safe_load((CATALOGUE / f"{name}.yaml").read_text())
    return value


MACHINES = {
    *("dgx-h200", "dgx-h100", "dgx-a100", "hgx-b200"),
    *("p4de.24xlarge", "p5.48xlarge", "p5e.48xlarge", "p5en.48xlarge", "Standard_ND96isr_H200_v5"),
    *("gex44", "gex131", "ccx33", "ccx63", "cax41"),
}


def test_the_catalogue_has_the_machines_of_the_market() -> None:
    assert set(names()) >= MACHINES


def test_a_yaml_file_in_the_folder_is_a_machine(monkeypatch: Any, tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text((CATALOGUE / "schema.json").read_text())
    (tmp_path / "rack7.yaml").write_text((CATALOGUE / "dgx-h100.yaml").read_text())
    monkeypatch.setattr("hardware.catalogue.CATALOGUE", tmp_path)
    assert names() == ("rack7",)
    assert load("rack7").cpus == "0-223"


def test_a_file_that_is_no_yaml_is_refused_with_its_line() -> None:
    with pytest.raises(HardwareError, match=r"^mine.yaml: line 3: mapping values are not allowed"):
        read("mine", "vendor: x\nkind: aws\n  arch: amd64\n", where="mine.yaml")


def test_the_schema_is_a_schema() -> None:
    schema = json.loads((CATALOGUE / "schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)


@every_machine
def test_every_machine_loads(name: str) -> None:
    assert load(name).name == name


@every_machine
def test_cpus_are_numbered_without_gaps(name: str) -> None:
    hardware = load(name)
    assert parse_list(hardware.cpus) == set(range(hardware.cpu_count))


@every_machine
def test_every_unverified_fact_is_a_property_of_the_file(name: str) -> None:
    for fact in load(name).unverified:
        top, _, inner = fact.partition(".")
        value = entry(name)[top]
        assert not inner or inner in value[0], f"{fact} of {name} names nothing"


def test_facts_that_nobody_can_be_cited_for_are_doubts_too() -> None:
    assert load("dgx-h200").doubts == (
        *load("dgx-h200").unverified,
        "nvme.numa_node (unknown)",
    )
    assert load("ccx33").doubts == load("ccx33").unverified, "a guest's links are its host's"


@every_machine
def test_a_price_that_is_not_verified_stands_among_the_unverified_facts(name: str) -> None:
    hardware = load(name)
    assert hardware.price.verified is ("price" not in hardware.unverified)


@every_machine
def test_a_machine_without_price_says_so(name: str) -> None:
    assert load(name).usd_per_hour is not None or "price" in load(name).unverified


@pytest.mark.parametrize("name", ["dgx-h200", "p5e.48xlarge", "p5en.48xlarge", "ccx33"])
def test_the_machines_of_the_environments_have_a_price_for_the_budget(name: str) -> None:
    assert load(name).usd_per_hour is not None


@every_machine
def test_gpus_of_one_machine_are_of_one_model_and_name_their_pci_device(name: str) -> None:
    gpus = load(name).gpus
    assert len({(gpu.model, gpu.memory_gib, gpu.pci_device_id) for gpu in gpus}) <= 1
    assert all(gpu.pci_device_id and gpu.pci_device_id.startswith("10de:") for gpu in gpus)


def test_a_pci_device_is_one_model_on_every_machine() -> None:
    models: dict[str | None, set[str]] = {}
    for name in names():
        for gpu in load(name).gpus:
            models.setdefault(gpu.pci_device_id, set()).add(gpu.model)
    assert all(len(found) == 1 for found in models.values()), models


@every_machine
def test_gpus_have_their_link_and_their_window_or_say_that_nobody_knows(name: str) -> None:
    machine = load(name)
    for gpu in machine.gpus:
        assert None not in (gpu.pcie_gen, gpu.pcie_width, gpu.bar1_gib)
        assert gpu.bar1_gib is not None
        assert gpu.bar1_gib >= gpu.memory_gib, "all of the memory can be reached over the bus"
    assert machine.pcie_aspm is not None or machine.virtual or not machine.gpus


def test_a_h200_shows_256_gib_to_the_bus() -> None:
    assert {gpu.bar1_gib for gpu in load("dgx-h200").gpus} == {256}
    assert "gpus.bar1_gib" not in load("dgx-h200").unverified


@every_machine
def test_an_nvswitch_joins_gpus_that_have_nvlinks(name: str) -> None:
    hardware = load(name)
    assert all((gpu.nvlinks or 0) > 0 for gpu in hardware.gpus) is (
        hardware.nvswitch or not hardware.gpus
    )


@every_machine
def test_every_source_is_an_address(name: str) -> None:
    assert all(source.startswith("https://") for source in load(name).sources)


def test_a_dgx_a100_has_gpus_and_rails_on_every_other_of_eight_numa_nodes() -> None:
    dgx = load("dgx-a100")
    assert [node.cpus for node in dgx.numa_nodes][:2] == ["0-15,128-143", "16-31,144-159"]
    assert [gpu.numa_node for gpu in dgx.gpus] == [3, 3, 1, 1, 7, 7, 5, 5]
    assert {nic.numa_node for nic in dgx.nics} == {1, 3, 5, 7}
    assert {16, 144} in dgx.cores()


def test_an_azure_machine_has_no_smt() -> None:
    azure = load("Standard_ND96isr_H200_v5")
    assert (azure.cpu_count, azure.threads_per_core, azure.memory_gib) == (96, 1, 1850)
    assert [node.cpus for node in azure.numa_nodes] == ["0-47", "48-95"]


def test_a_hybrid_processor_has_cores_with_and_without_smt() -> None:
    cores = load("gex44").cores()
    assert [len(core) for core in cores] == [2] * 6 + [1] * 8
    assert (cores[0], cores[6]) == (frozenset({0, 1}), frozenset({12}))


def test_local_drives_are_summed() -> None:
    assert load("dgx-h200").nvme_gib == 8 * 3576
    assert load("ccx33").nvme_gib == 0


@pytest.mark.parametrize("name", ["dgx-h200", "dgx-h100", "dgx-a100", "hgx-b200"])
def test_metal3_must_be_told_the_drive_where_all_drives_are_nvme(name: str) -> None:
    machine = load(name)
    assert machine.needs_drive_hint, "without a hint Metal3 installs on /dev/sda"
    assert machine.needs_drive_serial, "two M.2 drives are alike"


@pytest.mark.parametrize(
    ("drives", "hint", "serial"),
    [
        ({"count": 1, "bus": "nvme", "model": None}, True, False),
        ({"count": 2, "bus": "sata", "model": None}, False, True),
        ({"count": 1, "bus": None, "model": None}, True, False),
    ],
)
def test_a_hint_depends_on_the_bus_and_its_kind_on_the_number_of_drives_that_are_alike(
    drives: dict[str, Any], *, hint: bool, serial: bool
) -> None:
    machine = parse("mine", entry("dgx-h200") | {"system_drives": drives}, where="mine.yaml")
    assert (machine.needs_drive_hint, machine.needs_drive_serial) == (hint, serial)


def test_a_bare_metal_machine_without_its_system_drives_is_refused() -> None:
    bare = entry("dgx-h200")
    del bare["system_drives"]
    with pytest.raises(HardwareError, match=r"^mine.yaml: \$.system_drives: needed: the drives"):
        parse("mine", bare, where="mine.yaml")


def test_a_rented_machine_has_no_system_drives_to_choose_from() -> None:
    rented = entry("p5e.48xlarge") | {"system_drives": entry("dgx-h200")["system_drives"]}
    with pytest.raises(HardwareError, match=r"system_drives: allowed for bare-metal alone"):
        parse("mine", rented, where="mine.yaml")
    assert not load("p5e.48xlarge").needs_drive_hint


def test_an_arm_machine_with_gpus_is_refused_with_the_reason() -> None:
    grace = deepcopy(entry("dgx-h200"))
    grace.update(arch="arm64", cpu_vendor="arm", cpu_model="Neoverse-V2")
    machine = parse("grace", grace, where="grace.yaml")
    with pytest.raises(PlanError, match=r"grace has GPUs on arm64.*driver.*amd64 alone"):
        plan(machine, Tuning(), "training")
    assert plan(load("cax41"), Tuning(), "batch").hardware == "cax41", "without GPUs it is fine"


def test_a_dgx_h200_is_wired_as_its_sources_say() -> None:
    dgx = load("dgx-h200")
    assert [node.cpus for node in dgx.numa_nodes] == ["0-55,112-167", "56-111,168-223"]
    assert [gpu.numa_node for gpu in dgx.gpus] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert (dgx.cpu_count, dgx.memory_gib, dgx.gpu_count, dgx.threads_per_core) == (224, 2048, 8, 2)
    assert dgx.nvswitch


def test_a_core_is_the_set_of_its_threads() -> None:
    assert {3, 115} in load("dgx-h200").cores()
    assert {2, 3} in load("ccx33").cores()


def test_a_rented_machine_costs_its_on_demand_price() -> None:
    assert load("p5en.48xlarge").usd_per_hour == 63.296


def test_a_rented_machine_without_on_demand_price_costs_its_reserved_one() -> None:
    assert load("p5e.48xlarge").usd_per_hour == 39.8


def test_an_owned_machine_costs_its_amortised_price() -> None:
    assert load("dgx-h200").usd_per_hour == load("dgx-h200").price.amortised_per_hour


def test_prices_in_eur_are_shown_in_usd() -> None:
    assert load("ccx33").usd_per_hour == round(0.1897 * USD_PER_EUR, 4)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("dgx-h20", "nearest: dgx-h200"),
        ("p5e.48xlage", "nearest: p5e.48xlarge, p5en.48xlarge"),
        ("zzz", "known: Standard_ND96isr_H200_v5, cax41"),
        ("../pyproject", "known: "),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(HardwareError, match=hint):
        load(name)


def _set(*path: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(machine: dict[str, Any]) -> None:
        target: Any = machine
        for part in path[:-1]:
            target = target[part]
        target[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_set("kind", value="gcp"), r"\$.kind: 'gcp' is not one of"),
        (_set("colour", value="red"), "'colour' was unexpected"),
        (_set("numa_nodes", 0, "memory_gib", value="1 TB"), r"\$.numa_nodes\[0\].memory_gib"),
        (_set("price", "date", value="today"), r"\$.price.date"),
        (_set("numa_nodes", 1, "id", value=2), "numbered from 0 in order"),
        (_set("numa_nodes", 1, "threads", value=["56-", "1"]), r'"56-" is no CPU'),
        (_set("numa_nodes", 1, "threads", value=["0-55"]), "stands in two lists"),
        (
            _set("numa_nodes", 0, "threads", value=["0-3", "112-167"]),
            "the first must be the longest",
        ),
        (_set("gpus", 7, "numa_node", value=2), r"\$.gpus\[7\].numa_node: 2.*NUMA nodes 0 to 1"),
        (_set("nics", 0, "numa_node", value=9), r"\$.nics\[0\].numa_node: 9"),
        (_set("nvme", 0, "numa_node", value=2), r"\$.nvme\[0\].numa_node: 2"),
        (_set("gpus", 2, "index", value=3), r"\$.gpus\[2\].index: 3, but GPUs are numbered from 0"),
        (_set("gpus", 0, "pcie_width", value=5), r"\$.gpus\[0\].pcie_width"),
        (_set("gpus", 0, "pci_device_id", value="2335"), r"\$.gpus\[0\].pci_device_id"),
        (_set("gpus", value=[]), r"\$.nvswitch: true, but the machine has no GPUs"),
        (_set("nics", 1, "name", value="mlx5_0"), r"\$.nics\[1\].name: \"mlx5_0\" is the name of"),
        (_set("pcie_aspm", value="on"), r"\$.pcie_aspm"),
        (_set("price", "spot_per_hour", value=0), r"\$.price.spot_per_hour"),
    ],
)
def test_a_wrong_entry_is_refused_with_file_and_property(
    change: Callable[[dict[str, Any]], None], says: str
) -> None:
    machine = deepcopy(entry("dgx-h200"))
    change(machine)
    with pytest.raises(HardwareError, match=f"^mine.yaml: .*{says}"):
        parse("mine", machine, where="mine.yaml")


def test_cores_with_and_without_smt_can_stand_in_one_node() -> None:
    machine = deepcopy(entry("ccx33"))
    machine["numa_nodes"] = [{"id": 0, "threads": ["0,2,4-6", "1,3"], "memory_gib": 32}]
    hybrid = parse("hybrid", machine, where="hybrid.yaml")
    assert hybrid.cores() == tuple(map(frozenset, ([0, 1], [2, 3], [4], [5], [6])))
    assert hybrid.threads_per_core == 2
