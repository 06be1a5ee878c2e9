"""Machines imported from what published layouts say of themselves, and every contradiction told."""

from dataclasses import replace
from pathlib import Path

import pytest

from hardware.catalogue import Hardware, load, read
from hardware.cpuset import parse_list
from hardware.importer.catalogue_file import Heading
from hardware.importer.files import import_machine
from ignition.plan.numa_plan import PlanError, plan
from ignition.plan.tuning import PURPOSES, Purpose, Tuning
from tests.support.hardware_captures import HEADING, NAMES, Layout, files, imported, layout

every_layout = pytest.mark.parametrize("name", NAMES)
both_ways = pytest.mark.parametrize("tree", [False, True], ids=["lspci", "sysfs"])


def machine(name: str, folder: Path, *, tree: bool = False) -> Hardware:
    return read("mine", imported(layout(name), folder, tree=tree), where="mine.yaml")


def machine_of(of: Layout, folder: Path) -> Hardware:
    return read("mine", imported(of, folder), where="mine.yaml")


def test_the_layouts_are_of_many_shapes() -> None:
    shapes = {
        (len(of.nodes), max(len(of.siblings(cpu)) for cpu in of.nodes[0]))
        for of in map(layout, NAMES)
    }
    assert shapes >= {(1, 2), (2, 1), (2, 2), (4, 2), (8, 2)}
    numbered = {name for name in NAMES if 1 not in layout(name).nodes[0]}
    assert {"odd-and-even", "four-sockets-round-robin"} == numbered, "CPU 1 is not beside CPU 0"


@every_layout
def test_each_layout_names_where_it_was_published(name: str) -> None:
    assert all(source.startswith("https://github.com/") for source in layout(name).facts["source"])
    assert layout(name).facts["restored"]


@every_layout
@both_ways
def test_cpus_and_siblings_are_those_that_were_published(
    name: str, tmp_path: Path, *, tree: bool
) -> None:
    of, found = layout(name), machine(name, tmp_path, tree=tree)
    assert [parse_list(node.cpus) for node in found.numa_nodes] == of.nodes
    assert set(found.cores()) == {of.siblings(cpu) for cpus in of.nodes for cpu in cpus}
    assert found.sockets == of.facts["sockets"]
    assert found.cpu_model == of.facts["model"]
    assert found.virtual is ("hypervisor" in of.facts)


@every_layout
@both_ways
def test_gpus_and_their_links_are_those_of_the_matrix(
    name: str, tmp_path: Path, *, tree: bool
) -> None:
    of, found = layout(name), machine(name, tmp_path, tree=tree)
    expected = of.facts["expect"]
    assert [gpu.numa_node for gpu in found.gpus] == of.facts.get("gpus", {"nodes": []})["nodes"]
    assert [gpu.nvlinks for gpu in found.gpus] == expected.get("nvlinks", [])
    assert found.nvswitch is expected["nvswitch"]
    assert found.efa_interfaces == expected.get("efa_interfaces", 0)


@pytest.mark.parametrize("name", [n for n in NAMES if "nics" in layout(n).facts["expect"]])
def test_network_cards_are_on_the_numa_node_of_their_gpus(name: str, tmp_path: Path) -> None:
    found = machine(name, tmp_path)
    assert {nic.name: nic.numa_node for nic in found.nics} == layout(name).facts["expect"]["nics"]
    assert all(nic.rdma for nic in found.nics)
    assert all(nic.model.startswith("Mellanox Technologies ") for nic in found.nics)


@every_layout
def test_what_was_not_measured_is_named(name: str, tmp_path: Path) -> None:
    doubts = layout(name).facts["expect"].get("doubts", [])
    found = machine(name, tmp_path)
    assert set(found.unverified) == {"price", "system_disk_gib", "system_drives", *doubts}
    assert found.usd_per_hour is None
    assert "measured on the machine on 2026-11-21 by (lscpu -J; " in found.sources[0]


@pytest.mark.parametrize("name", ["azure-nd-h200-v5", "aws-p4de"])
def test_a_rented_type_is_imported_as_the_catalogue_has_it(name: str, tmp_path: Path) -> None:
    known = load(layout(name).facts["expect"]["like"])
    found = machine(name, tmp_path, tree=True)
    for of in ("arch", "cpu_vendor", "virtual", "sockets", "nvswitch", "efa_interfaces"):
        assert getattr(found, of) == getattr(known, of)
    assert found.cores() == known.cores()
    for gpu, other in zip(found.gpus, known.gpus, strict=True):
        same = ("index", "model", "memory_gib", "numa_node", "nvlinks", "pci_device_id")
        assert [getattr(gpu, fact) for fact in same] == [getattr(other, fact) for fact in same]
        assert gpu.pcie_gen in (None, other.pcie_gen)


def test_sysfs_shows_links_bar_and_drives(tmp_path: Path) -> None:
    found = machine("azure-nd-h200-v5", tmp_path, tree=True)
    gpu = found.gpus[0]
    assert (gpu.pcie_gen, gpu.pcie_width, gpu.bar1_gib) == (5, 16, 256)
    assert [nic.name for nic in found.nics] == [f"mlx5_{number}" for number in range(8)]
    assert [(drive.size_gib, drive.numa_node) for drive in found.nvme] == [(3576, 1)]
    assert found.nvme[0].model == "SAMSUNG MZQL23T8HCLS-00A07"
    assert found.system_disk_gib == 3576, "nvme0n1 is the system disk and no scratch"
    assert found.unverified == ("price",)


def test_system_drives_are_counted_that_only_a_serial_number_tells_apart(tmp_path: Path) -> None:
    found = machine("azure-nd-h200-v5", tmp_path, tree=True).system_drives
    assert found is not None
    assert (found.count, found.bus, found.model) == (2, "nvme", "SAMSUNG MZQL23T8HCLS-00A07")


def test_a_system_drive_that_the_capture_does_not_show_must_be_named_to_metal3(
    tmp_path: Path,
) -> None:
    assert machine("azure-nd-h200-v5", tmp_path).needs_drive_hint


def test_memory_is_what_the_kernel_has_rounded_down(tmp_path: Path) -> None:
    found = machine("without-smt", tmp_path)
    assert [node.memory_gib for node in found.numa_nodes] == [755, 755]


def test_new_gpus_are_described_by_nvidia_smi(tmp_path: Path) -> None:
    found = machine("gpus-that-are-new", tmp_path)
    assert {(gpu.model, gpu.memory_gib, gpu.pcie_gen) for gpu in found.gpus} == {
        ("NVIDIA GeForce RTX 4090", 24, 4)
    }


@every_layout
@pytest.mark.parametrize("purpose", PURPOSES)
def test_an_imported_machine_has_a_plan(name: str, tmp_path: Path, purpose: Purpose) -> None:
    tuning = Tuning(housekeeping_cores_per_numa_node=1)
    assert plan(machine(name, tmp_path), tuning, purpose).hardware == "mine"


def test_a_heading_is_checked_as_a_catalogue_file_is(tmp_path: Path) -> None:
    heading = Heading(name="mine", vendor="own", kind="metal", date="2026-11-21")  # type: ignore[arg-type]  # what a user may type
    with pytest.raises(ValueError, match=r"mine.yaml: \$.kind: 'metal' is not one of"):
        import_machine(files(layout("odd-and-even"), tmp_path), heading, system_disk="894")


def test_an_arm_machine_with_gpus_is_imported_and_gets_no_plan(tmp_path: Path) -> None:
    given = files(layout("without-smt"), tmp_path)
    of = layout("hybrid-processor")
    facts = {**of.facts, "architecture": "aarch64", "vendor": "ARM", "model": "Neoverse-V2"}
    given = files(replace(of, facts=facts), tmp_path)
    found = read("mine", import_machine(given, HEADING, system_disk="894"), where="mine.yaml")
    assert (found.arch, found.cpu_vendor) == ("arm64", "arm")
    with pytest.raises(PlanError, match=r"has GPUs on arm64.*driver extensions"):
        plan(found, Tuning(), "inference")


def test_without_smt_the_summary_is_enough(tmp_path: Path) -> None:
    given = files(layout("without-smt"), tmp_path)
    given.lscpu.write_text(given.lscpu.read_text().partition('{"cpus"')[0])
    found = read("mine", import_machine(given, HEADING, system_disk="894"), where="mine.yaml")
    assert [node.cpus for node in found.numa_nodes] == ["0-31", "32-63"]
    assert (found.threads_per_core, found.sockets) == (1, 2)


def test_a_gpu_whose_cpu_list_is_left_out_has_its_numa_node(tmp_path: Path) -> None:
    of = layout("pairs-with-nvlink-bridges")
    topo = of.facts["topo"].replace("32-63,96-127", " " * 12)
    found = machine_of(replace(of, facts={**of.facts, "topo": topo}), tmp_path)
    assert [gpu.numa_node for gpu in found.gpus] == [0, 0, 0, 0, 1, 1, 1, 1]


def test_escape_codes_of_the_header_do_not_matter(tmp_path: Path) -> None:
    of = layout("gpus-that-are-new")
    topo = (
        of.facts["topo"].replace("\tGPU0", "\t\x1b[4mGPU0", 1).replace("GPU NUMA ID", "ID\x1b[0m")
    )
    found = machine_of(replace(of, facts={**of.facts, "topo": topo}), tmp_path)
    assert len(found.gpus) == 8


def test_cards_of_a_virtual_machine_are_found_behind_virtio(tmp_path: Path) -> None:
    given = files(layout("without-smt"), tmp_path, tree=True)
    card = tmp_path / "sys/bus/pci/devices/0000:00:03.0"
    (card / "virtio1/net/eth0").mkdir(parents=True)
    for file, text in (("class", "0x020000"), ("vendor", "0x1af4"), ("device", "0x1000")):
        (card / file).write_text(text)
    found = read("mine", import_machine(given, HEADING, system_disk="nvme0n1"), where="mine.yaml")
    (nic,) = found.nics
    assert (nic.name, nic.model, nic.rdma) == ("eth0", "virtio", False)
    assert "nics.numa_node" in found.unverified, "the kernel does not say it"


def test_with_one_numa_node_there_is_no_doubt_about_a_cards(tmp_path: Path) -> None:
    of = layout("hybrid-processor")
    cards = {"id": "1021", "name": "MT2910 Family [ConnectX-7]", "nodes": [None]}
    found = machine_of(replace(of, facts={**of.facts, "cards": cards}), tmp_path)
    assert [nic.numa_node for nic in found.nics] == [0]
    assert "nics.numa_node" not in found.unverified
