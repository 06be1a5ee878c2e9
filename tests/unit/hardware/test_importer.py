"""Machines imported from what published layouts say of themselves, and every contradiction told."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from hardware.cpuset import parse_list
from hardware.hardware import Hardware, load, read
from hardware.importer.capture import CaptureError
from hardware.importer.files import Files, import_machine
from hardware.importer.write import Heading
from ignition.numa_plan import PlanError, plan
from ignition.tuning import PURPOSES, Purpose, Tuning
from tests.unit.hardware.captures import HEADING, NAMES, Layout, files, imported, layout

every_layout = pytest.mark.parametrize("name", NAMES)
both_ways = pytest.mark.parametrize("tree", [False, True], ids=["lspci", "sysfs"])


def machine(name: str, folder: Path, *, tree: bool = False) -> Hardware:
    return read("mine", imported(layout(name), folder, tree=tree), where="mine.yaml")


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
    for cpus in of.nodes:
        assert all(found.siblings(cpu) == of.siblings(cpu) for cpu in cpus)
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
    assert set(found.unverified) == {"price", "system_disk_gib", *doubts}
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


def edited(given: Files, capture: str, old: str, new: str) -> Files:
    """The captures with one text changed in one of them."""
    path = getattr(given, capture)
    text = path.read_text()
    assert old in text, f"{old!r} is not in {path.name}"
    path.write_text(text.replace(old, new, 1))
    return given


@pytest.mark.parametrize(
    ("capture", "old", "new", "says"),
    [
        ("lscpu", '"data": "x86_64"', '"data": x86', r"lscpu.json, line \d+: no JSON"),
        ("lscpu", '"lscpu"', '"cpu"', "the summary of lscpu -J is missing"),
        ("lscpu", '"core": 5', '"kern": 5', "row 5 of the CPUs lacks one of cpu, core and socket"),
        ("lscpu", "Vendor ID:", "Vendor:", r'"Vendor ID" is missing; run lscpu with LC_ALL=C'),
        ("lscpu", "x86_64", "riscv64", 'architecture "riscv64" is not supported'),
        ("lscpu", "GenuineIntel", "CentaurHauls", 'vendor "CentaurHauls" is not supported'),
        ("lscpu", '"node": 0', '"node": 1', "NUMA node 0 has other CPUs in the summary"),
        ("lscpu", '"0-55,112-167"', '"0-55,x"', r'"NUMA node0 CPU\(s\)" is "0-55,x": CPU list'),
        ("lspci", "Slot:\t0000:11:00.0", "Slot:\t11", r'lspci.txt, line \d+: the slot "11"'),
        ("lspci", " [0302]", "", r"line \d+: Class is \"3D controller\", without its number"),
        ("lspci", "Rev:\ta1", "Rev a1", r'line \d+: "Rev a1" is no line of lspci -Dvmmnn'),
        (
            "lspci",
            "NUMANode:\t0",
            "NUMANode:\tnone",
            r'line \d+: the NUMA node "none" is no number',
        ),
        ("lspci", "NUMANode:\t0", "NUMANode:\t1", r"GPU0 \(0000:10:00.0\) is 0, and 1 in .*lspci"),
        ("topo", "\nGPU3\t", "\nGPU4\t", r"topo.txt, line 5: the row of GPU3 is missing"),
        ("topo", "GPU0\t X \tSYS", "GPU0\t X ", r"line 2: \"0-55,112-167\" in the row of GPU0"),
        ("topo", "GPU7\tSYS\tSYS", "GPU7", r"line 9: "),
        ("topo", "GPU0\t X \tSYS", "GPU0\t X \tQPI", 'line 2: "QPI" in the row of GPU0 is no'),
        ("topo", "GPU0\t X \tSYS", "GPU0\t X \tPIX", "GPU0 to GPU1 is PIX, and back it is SYS"),
        ("topo", "GPU0\t X ", "GPU0\tSYS", "GPU0 is not itself"),
        ("topo", "\tGPU0", "\tCPU0", "no header with GPU0"),
        ("topo", "0-55,112-167", "0-15,112-127", "GPU0 is near the CPUs 0-15,112-127, and NUMA "),
        ("meminfo", "Node 1 MemTotal", "Node 2 MemTotal", "memory of the NUMA nodes 0, 2, and ls"),
        ("gpus", "24564 MiB", "[N/A]", r"gpus.csv, line 2: .* is no row of nvidia-smi"),
        ("gpus", "index, name", "name, index", "line 1: the header is not that of nvidia-smi"),
        ("gpus", "00000000:10:00.0", "00000000:AA:00.0", "no GPU at 0000:10:00.0"),
    ],
)
def test_a_wrong_capture_is_one_sentence_with_its_file(
    tmp_path: Path, capture: str, old: str, new: str, says: str
) -> None:
    given = files(layout("gpus-that-are-new"), tmp_path)
    with pytest.raises(CaptureError, match=says) as caught:
        import_machine(edited(given, capture, old, new), HEADING, system_disk="894")
    assert str(caught.value).startswith(str(tmp_path)), "the file stands first"
    assert "\n" not in str(caught.value)


def test_a_new_gpu_asks_for_what_nvidia_smi_says_of_it(tmp_path: Path) -> None:
    given = replace(files(layout("gpus-that-are-new"), tmp_path), gpus=None)
    with pytest.raises(CaptureError, match=r"RTX 4090\] \(10de:2684\), which no machine.*--gpus"):
        import_machine(given, HEADING, system_disk="894")


def test_smt_siblings_are_never_guessed(tmp_path: Path) -> None:
    given = files(layout("odd-and-even"), tmp_path)
    given.lscpu.write_text(given.lscpu.read_text().partition('{"cpus"')[0])
    with pytest.raises(CaptureError, match=r"2 threads per core; capture \(lscpu -J; lscpu -J -e="):
        import_machine(given, HEADING, system_disk="894")


def test_without_smt_the_summary_is_enough(tmp_path: Path) -> None:
    given = files(layout("without-smt"), tmp_path)
    given.lscpu.write_text(given.lscpu.read_text().partition('{"cpus"')[0])
    found = read("mine", import_machine(given, HEADING, system_disk="894"), where="mine.yaml")
    assert [node.cpus for node in found.numa_nodes] == ["0-31", "32-63"]
    assert (found.threads_per_core, found.sockets) == (1, 2)


# https://github.com/bytedance/xpu-perf/issues/129: a GH200, whose GPU memory makes NUMA nodes
def test_a_grace_hopper_with_memory_only_numa_nodes_is_refused(tmp_path: Path) -> None:
    of = layout("without-smt")
    given = files(replace(of, facts={**of.facts, "numa_cpus": ["0-71"], "sockets": 1}), tmp_path)
    edited(given, "lscpu", '"data": "1"\n', '"data": "9"\n')
    text = given.lscpu.read_text()
    position = text.index("NUMA node(s):")
    given.lscpu.write_text(text[:position] + text[position:].replace('"1"', '"9"', 1))
    with pytest.raises(CaptureError, match=r"NUMA node 1, 2, .*8 has no CPU; .*Grace"):
        import_machine(given, HEADING, system_disk="894")


# https://github.com/vllm-project/vllm/issues/8665: 256 CPUs, of which CPU 128 is off-line
def test_off_line_cpus_are_refused(tmp_path: Path) -> None:
    given = edited(
        files(layout("without-smt"), tmp_path),
        "lscpu",
        '{\n         "field": "CPU(s):"',
        '{"field": "Off-line CPU(s) list:", "data": "128"},{\n         "field": "CPU(s):"',
    )
    with pytest.raises(CaptureError, match="the CPUs 128 are off-line"):
        import_machine(given, HEADING, system_disk="894")


# https://github.com/rapidsai/dask-cuda/issues/1381: nvidia-smi inside a job of 32 CPUs
def test_a_capture_inside_a_cpu_limit_is_refused(tmp_path: Path) -> None:
    of = layout("pairs-with-nvlink-bridges")
    given = files(of, tmp_path)
    assert given.topo is not None
    given.topo.write_text(given.topo.read_text().replace("0-31,64-95 ", "0-15,64-79 "))
    with pytest.raises(CaptureError, match="capture outside of containers and of CPU limits"):
        import_machine(given, HEADING, system_disk="894")


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


def machine_of(of: Layout, folder: Path) -> Hardware:
    return read("mine", imported(of, folder), where="mine.yaml")


@pytest.mark.parametrize("shown", ["N/A", "0-1"])
def test_a_virtual_machine_that_hides_numa_is_refused(tmp_path: Path, shown: str) -> None:
    of = layout("aws-p4de")
    gpus = {**of.facts["gpus"], "nodes": [None] * 8}
    topo = of.facts["topo"].replace("\t0\n", f"\t{shown}\n").replace("\t1\n", f"\t{shown}\n")
    hidden = replace(of, facts={**of.facts, "gpus": gpus, "topo": topo})
    with pytest.raises(CaptureError, match=r"GPU0 .* is unknown to both nvidia-smi and PCI"):
        imported(hidden, tmp_path)


def test_cores_that_no_list_can_say_are_refused(tmp_path: Path) -> None:
    of = layout("without-smt")
    given = files(of, tmp_path)
    rows = [
        {"cpu": c, "core": {5: 0, 4: 1}.get(c, c), "socket": 0, "node": c // 32} for c in range(64)
    ]
    given.lscpu.write_text(
        given.lscpu.read_text().partition('{"cpus"')[0] + json.dumps({"cpus": rows})
    )
    with pytest.raises(CaptureError, match="alternate, which no CPU list can say"):
        import_machine(given, HEADING, system_disk="894")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"lspci": None}, "--lspci, --sysfs: exactly one of the two is needed"),
        ({"sysfs": Path("/")}, "--lspci, --sysfs: exactly one of the two is needed"),
        ({"lspci": None, "sysfs": Path(__file__).parent}, "no sysfs: it has no folder bus/pci"),
        ({"meminfo": None}, "--meminfo: lspci shows no memory: add the output of cat /sys/"),
        ({"topo": None}, "8 NVIDIA GPUs, so --topo with the output of nvidia-smi topo -m is"),
        ({"lscpu": Path("/nowhere")}, "/nowhere: cannot be read: No such file or directory"),
        ({"lspci": Path("/bin/true")}, "/bin/true: no text: byte"),
        ({"meminfo": Path(__file__)}, 'no line such as "Node 0 MemTotal: '),
    ],
)
def test_a_missing_capture_is_asked_for(
    tmp_path: Path, change: dict[str, Path | None], says: str
) -> None:
    given = replace(files(layout("gpus-that-are-new"), tmp_path), **change)  # type: ignore[arg-type]  # each field is a path or None
    with pytest.raises(CaptureError, match=re.escape(says)):
        import_machine(given, HEADING, system_disk="894")


def test_captures_of_two_machines_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = files(layout("hybrid-processor"), tmp_path / "other")
    given = replace(files(layout("gpus-that-are-new"), tmp_path), topo=other.topo)
    with pytest.raises(CaptureError, match=r"1 GPUs, and .*lspci.txt has 8; capture both on one"):
        import_machine(given, HEADING, system_disk="894")


@pytest.mark.parametrize("disk", ["sda", "0", "-1", "nvme7n1"])
def test_a_system_disk_that_is_not_there_is_refused(tmp_path: Path, disk: str) -> None:
    given = files(layout("azure-nd-h200-v5"), tmp_path, tree=True)
    with pytest.raises(CaptureError, match=rf'"{disk}" is no size .*\(nvme0n1, nvme1n1\)'):
        import_machine(given, HEADING, system_disk=disk)


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
