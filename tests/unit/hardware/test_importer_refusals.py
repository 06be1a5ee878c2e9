"""Captures that cannot be read or contradict each other: one sentence each, the file first."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardware.catalogue import HardwareError, read
from hardware.importer.capture import CaptureError
from hardware.importer.files import Files, import_machine
from tests.support.hardware_captures import HEADING, files, imported, layout

CAPTURES = ("lscpu", "lspci", "meminfo", "topo", "gpus")


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
        ("topo", "0-55,112-167", "0-55,112-16", "line 2: the affinity of GPU0: CPU list"),
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


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return files(layout("gpus-that-are-new"), tmp_path_factory.mktemp("captures"))


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return files(layout("azure-nd-h200-v5"), tmp_path_factory.mktemp("captures"), tree=True)


def outcome(captures: Files) -> str:
    """The sentence of a refusal; nothing where a machine was made that the catalogue takes."""
    sentence = ""
    try:
        made = import_machine(captures, HEADING, system_disk="894")
    except HardwareError as error:
        sentence = str(error)
    else:
        read("mine", made, where="mine.yaml")
    return sentence


DAMAGE = st.sampled_from(["", "-", "x", "0", "99999", "\n", '"', "[", "null", "\t", "-1", "é"])


@settings(max_examples=50, deadline=None)
@given(capture=st.sampled_from(CAPTURES), cut=st.tuples(st.floats(0, 1), st.integers(0, 40)))
@pytest.mark.parametrize("put", ["", "0", "x", "-1", '"', "\n"])
def test_any_damage_is_a_sentence_or_does_not_matter(
    intact: Files, put: str, capture: str, cut: tuple[float, int]
) -> None:
    whole: Path = getattr(intact, capture)
    text = whole.read_text()
    start, end = int(cut[0] * len(text)), int(cut[0] * len(text)) + cut[1]
    damaged = whole.with_name("damaged")
    damaged.write_text(text[:start] + put + text[end:])
    assert "\n" not in outcome(replace(intact, **{capture: damaged}))


@settings(max_examples=100, deadline=None)
@given(file=st.integers(0, 10_000), put=DAMAGE)
def test_any_damage_to_sysfs_is_a_sentence_or_does_not_matter(
    copied: Files, file: int, put: str
) -> None:
    assert copied.sysfs is not None
    paths = sorted(path for path in copied.sysfs.rglob("*") if path.is_file())
    path = paths[file % len(paths)]
    before = path.read_text()
    path.write_text(put)
    sentence = outcome(copied)
    path.write_text(before)
    assert "\n" not in sentence
