"""Which CPUs and which NUMA node a rank gets on a DGX H200 as its sysfs shows it."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from hardware.cpuset import parse_list
from workloads.bind.placement import BindError, local_rank, placement

BUSES = ("1B", "43", "52", "61", "9D", "C3", "D1", "DF")
ANSWER = "".join(f"{at}, GPU-{at}f3c, 00000000:{bus}:00.0\n" for at, bus in enumerate(BUSES))
NODES = ("0-55,112-167", "56-111,168-223")
POD = parse_list("4-51,60-107,116-163,172-219")  # 96 cores with both threads


@pytest.fixture
def dgx(tmp_path: Path) -> Path:
    for at, bus in enumerate(BUSES):
        folder = tmp_path / f"sys/bus/pci/devices/0000:{bus.lower()}:00.0"
        folder.mkdir(parents=True)
        (folder / "numa_node").write_text(f"{at // 4}\n")
    for at, cpus in enumerate(NODES):
        folder = tmp_path / f"sys/devices/system/node/node{at}"
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(f"{cpus}\n")
    (tmp_path / "sys/devices/system/node/online").write_text("0-1\n")
    return tmp_path


def answer(_command: Sequence[str]) -> str:
    return ANSWER


def test_eight_ranks_get_the_pods_cpus_of_their_gpus_node(dgx: Path) -> None:
    places = [placement({"LOCAL_RANK": str(rank)}, POD, answer, dgx) for rank in range(8)]
    assert [place.numa_node for place in places] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert places[0].cpus == parse_list("4-51,116-163")
    assert places[7].cpus == parse_list("60-107,172-219")
    assert places[7].sentence == ("rank 7: GPU 0000:df:00.0, NUMA node 1, CPUs 60-107,172-219")


def test_visible_devices_reorder_the_gpus_of_the_ranks(dgx: Path) -> None:
    environment = {"LOCAL_RANK": "0", "CUDA_VISIBLE_DEVICES": "7,GPU-0f3c"}
    assert placement(environment, POD, answer, dgx).numa_node == 1
    assert placement({**environment, "LOCAL_RANK": "1"}, POD, answer, dgx).numa_node == 0


def test_a_launcher_that_shows_each_rank_its_own_gpu_is_followed(dgx: Path) -> None:
    environment = {"SLURM_LOCALID": "5", "CUDA_VISIBLE_DEVICES": "2"}
    assert placement(environment, POD, answer, dgx).address == "0000:52:00.0"


def test_lines_of_nvidia_smi_beside_its_rows_are_no_gpus(dgx: Path) -> None:
    warning = "WARNING: infoROM is corrupted at gpu 0000:1B:00.0\n"
    place = placement({"LOCAL_RANK": "7"}, POD, lambda _: ANSWER + warning, dgx)
    assert place.address == "0000:df:00.0"
    with pytest.raises(BindError, match="rank 0 has no GPU: 0 are visible"):
        placement({"LOCAL_RANK": "0"}, POD, lambda _: "No devices were found\n", dgx)


def test_a_pod_without_cpus_beside_the_gpu_is_one_sentence(dgx: Path) -> None:
    with pytest.raises(BindError) as refused:
        placement({"LOCAL_RANK": "4"}, parse_list("0-31"), answer, dgx)
    assert str(refused.value).startswith(
        "NUMA node 1 of GPU 0000:9d:00.0 has CPUs 56-111,168-223, and the pod may use 0-31: ask"
    )


def test_more_ranks_than_gpus_are_refused(dgx: Path) -> None:
    with pytest.raises(BindError, match="rank 8 has no GPU: 8 are visible"):
        placement({"LOCAL_RANK": "8"}, POD, answer, dgx)


def test_a_visible_device_that_is_not_there_is_refused(dgx: Path) -> None:
    with pytest.raises(BindError, match="CUDA_VISIBLE_DEVICES names 9, which"):
        placement({"LOCAL_RANK": "0", "CUDA_VISIBLE_DEVICES": "9,0"}, POD, answer, dgx)


def test_a_firmware_that_does_not_say_the_node_is_refused_where_there_are_two(dgx: Path) -> None:
    path = dgx / "sys/bus/pci/devices/0000:1b:00.0/numa_node"
    path.write_text("-1\n")
    with pytest.raises(BindError, match="does not say to which of the NUMA nodes 0-1 GPU"):
        placement({"LOCAL_RANK": "0"}, POD, answer, dgx)
    (dgx / "sys/devices/system/node/online").write_text("0\n")
    assert placement({"LOCAL_RANK": "0"}, POD, answer, dgx).numa_node == 0


@pytest.mark.parametrize("name", ["LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"])
def test_the_rank_comes_from_any_launcher(name: str) -> None:
    assert local_rank({name: "3"}) == 3


def test_a_process_without_a_launcher_is_told_what_to_set() -> None:
    with pytest.raises(BindError, match="set one of LOCAL_RANK, OMPI_COMM_WORLD_LOCAL_RANK"):
        local_rank({"RANK": "3"})
    with pytest.raises(BindError, match="LOCAL_RANK is '-1', expected 0 or more"):
        local_rank({"LOCAL_RANK": "-1"})
